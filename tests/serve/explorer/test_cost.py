"""The view of costs: the time and its reasons, the roofline, tables, waves, the choice of a target."""

from __future__ import annotations

from typing import Any

from tests.serve.explorer.made_answers import made_explorer

TARGETS = [{"id": "h200", "title": "H200"}, {"id": "a100", "title": "A100"}]


def cost(target: str, **rest: Any) -> dict[str, Any]:
    whole = {
        "target": target,
        "title": target.upper(),
        "memory": [
            {"name": "a", "read": 1 << 20, "written": 0, "footprint": 1 << 20},
            {"name": "c", "read": 0, "written": 1 << 19, "footprint": 1 << 19},
        ],
        "bytesMoved": 3 << 19,
        "footprint": 3 << 19,
        "operations": [{"kind": "addf f32", "count": 262144}, {"kind": "addi i32", "count": 1024}],
        "flops": 262144,
        "intensity": 262144 / (3 << 19),
        "roofline": {
            "memory": 4.8e12,
            "ceilings": [
                {"name": "f64", "value": 67e12, "used": False},
                {"name": "f32", "value": 67e12, "used": True},
                {"name": "f64 tensor", "value": 67e12, "used": False},
                {"name": "tf32 tensor", "value": 495e12, "used": False},
                {"name": "f16 tensor", "value": 990e12, "used": False},
                {"name": "f8 tensor", "value": 1979e12, "used": False},
            ],
            "point": {"intensity": 262144 / (3 << 19), "attainable": 0.8e12},
        },
        "occupancy": {
            "registers": 40,
            "sharedMemory": 4096,
            "blocksPerMultiprocessor": 16,
            "warps": 4,
            "limit": "warps",
            "reason": None,
        },
        "waves": {"blocks": 1000, "atOnce": 528, "waves": 2, "tail": 472 / 528, "reason": None},
        "time": {"seconds": 4.2e-6, "reasons": ["memory: 1.5 MB at 4.8 TB/s = 0.3 us", "the launch itself decides"]},
        "measured": None,
        "sources": ["the data sheet of the " + target.upper()],
        "notes": [],
    }
    return {**whole, **rest}


def explorer(**rest: Any) -> Any:
    return made_explorer({"targets": TARGETS}, cost=lambda target: cost(target, **rest))


def panel(page: Any, name: str) -> Any:
    return page.get_by_role("region", name=name, exact=True).first


def test_the_parts_of_a_cost(page_for: Any) -> None:
    page = page_for(explorer(), view="cost")
    assert "4.2 us" in panel(page, "Estimated time").inner_text()
    assert "the launch itself decides" in panel(page, "Estimated time").inner_text()
    rows = page.get_by_role("table", name="Bytes by array").get_by_role("row")
    assert [text.split() for text in rows.nth(1).all_inner_texts()] == [["a", "1", "MiB", "0", "bytes", "1", "MiB"]]
    kinds = page.get_by_role("table", name="Operations by kind").get_by_role("row")
    assert kinds.nth(1).inner_text().split() == ["addf", "f32", "262,144"]
    assert "warps" in panel(page, "Occupancy").inner_text()
    assert "the data sheet of the H200" in page.inner_text("main")


def test_the_roofline_is_drawn_and_told(page_for: Any) -> None:
    page = page_for(explorer(measured=10e-6), view="cost")
    chart = page.get_by_role("img", name="Roofline of H200")
    label = chart.get_attribute("aria-label")
    assert "made has 0.17 operations a byte" in label and label.endswith("at most 800 Gop/s, the roof of memory.")
    circle = chart.locator("circle").bounding_box()
    roof = chart.locator("line[style*='width: 2']").first.bounding_box()
    # A kernel that memory holds back stands on the slope.
    x = (circle["x"] + circle["width"] / 2 - roof["x"]) / roof["width"]
    y = (roof["y"] + roof["height"] - circle["y"] - circle["height"] / 2) / roof["height"]
    assert abs(x - y) < 0.03
    assert "measured: 26.2 Gop/s" in chart.text_content()


def test_labels_of_the_roofline_do_not_collide(page_for: Any) -> None:
    script = """async (costs) => {
        const { drawRoofline } = await import("explorer/charts.js");
        return costs.map((cost) => {
            const chart = drawRoofline(cost, "a kernel with a name that is rather long");
            document.body.append(chart);
            const boxes = Array.from(chart.querySelectorAll("text:not([transform])"), (text) => text.getBBox());
            chart.remove();
            return boxes.map((box) => [box.x, box.y, box.width, box.height]);
        });
    }"""
    costs = [cost("h200", measured=10e-6)]
    for intensity in (1e-9, 0.01, 14.0, 200.0, 1e6):
        attainable = min(intensity * 4.8e12, 67e12)
        roofline = {**costs[0]["roofline"], "point": {"intensity": intensity, "attainable": attainable}}
        costs.append(cost("h200", roofline=roofline))
    page = page_for(explorer())
    for boxes in page.evaluate(script, costs):
        inset = 2
        for first, (left, top, width, height) in enumerate(boxes):
            # Labels beside each other share no point, but for the space around letters.
            for x, y, w, h in boxes[first + 1 :]:
                across = left + width < x + inset or x + w < left + inset
                assert across or top + height < y + inset or y + h < top + inset, boxes
        assert all(
            left >= 0 and left + width <= 800 and top >= 0 and top + height <= 400 for left, top, width, height in boxes
        )


def test_another_target_is_asked_for(page_for: Any) -> None:
    page = page_for(explorer(), view="cost")
    page.get_by_role("combobox", name="Target").select_option("a100")
    page.get_by_role("img", name="Roofline of A100").wait_for()
    assert "A100: about 4.2 us" in page.locator("#announcements").inner_text()
    page.get_by_role("button", name="Compare all targets").click()
    rows = page.get_by_role("table", name="Estimated time on each target").get_by_role("row")
    rows.nth(2).wait_for()
    assert [rows.nth(number).inner_text().split()[0] for number in (1, 2)] == ["H200", "A100"]


def test_waves_are_columns_and_the_last_one_is_its_tail(page_for: Any) -> None:
    script = """async (counts) => {
        const { drawWaves } = await import("explorer/charts.js");
        return counts.map((count) => {
            const waves = { blocks: count * 100 - 75, atOnce: 100, waves: count, tail: 0.25, reason: null };
            const drawing = drawWaves(waves);
            const heights = Array.from(drawing.querySelectorAll("rect"), (one) => Number(one.getAttribute("height")));
            return [heights.length / 2, heights.at(-1) / heights.at(-2), drawing.getAttribute("aria-label")];
        });
    }"""
    page = page_for(explorer())
    drawn = page.evaluate(script, [1, 2, 24, 25, 100_000])
    # Of many waves, those in the middle are one gap.
    assert [columns for columns, _, _ in drawn] == [1, 2, 24, 23, 23]
    assert all(tail == 0.25 and words.endswith("the last one 25 % full") for _, tail, words in drawn)


def test_a_launch_that_computes_nothing_has_no_place_on_the_roofline(page_for: Any) -> None:
    nothing = {**cost("h200")["roofline"], "point": None}
    occupancy = {
        "registers": None,
        "sharedMemory": None,
        "blocksPerMultiprocessor": None,
        "warps": None,
        "limit": "",
        "reason": "no assembler is installed",
    }
    page = page_for(
        explorer(roofline=nothing, flops=0, intensity=None, operations=[], memory=[], occupancy=occupancy), view="cost"
    )
    chart = page.get_by_role("img", name="made computes nothing that counts here")
    chart.wait_for()
    assert chart.locator("circle").count() == 0
    assert panel(page, "Occupancy").inner_text().split("\n")[-1] == "no assembler is installed"


def test_the_picture_is_for_paper(page_for: Any) -> None:
    page = page_for(explorer(), view="cost", color_scheme="dark", viewport={"width": 420, "height": 800})
    page.get_by_role("img", name="Roofline of H200").wait_for()
    # A narrow window scrolls inside of the chart and of tables, not as a whole.
    assert page.evaluate("document.querySelector('#content').scrollWidth") <= 420
    with page.expect_download() as saved:
        page.get_by_role("button", name="SVG").click()
    text = saved.value.path().read_text()
    assert text.startswith("<svg") and "var(" not in text
    # The first rectangle is the ground: white, whatever the page has.
    assert 'fill="rgb(255, 255, 255)"' in text[: text.index("</g>")]


def test_without_targets_the_view_says_so(page_for: Any) -> None:
    page = page_for(made_explorer(), view="cost")
    page.get_by_text("There is no target to estimate costs for.").wait_for()
