// Types of what all pages share.  Only type checkers read this file.

type Child = Node | string | number | null | undefined;

/** `on..` are listeners, `style` is an object of CSS properties, `true` is an attribute without a value, `null` none. */
type Attributes = Record<string, unknown>;

/** The tag of `div.panel.bad`. */
type TagOf<Name extends string> = Name extends `${infer Tag}.${string}` ? Tag : Name;
type HtmlOf<Name extends string> = TagOf<Name> extends keyof HTMLElementTagNameMap
  ? HTMLElementTagNameMap[TagOf<Name>]
  : never;
type SvgOf<Name extends string> = TagOf<Name> extends keyof SVGElementTagNameMap
  ? SVGElementTagNameMap[TagOf<Name>]
  : never;

/** A tab and what it shows. */
interface Tab {
  id: string;
  title: string;
  element: HTMLElement;
}

interface PageView<State> extends Tab {
  /** Called when the view is shown, and then whenever the state has changed while it is. */
  update(state: State): void | Promise<void>;
}

type NumberArray =
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | Float64Array;

/** A part of a picture, which is drawn on a canvas or written as SVG: a rectangle or a path, a text, cells, or a group. */
interface Shape {
  rect?: { x: number; y: number; width: number; height: number };
  /** A path, in the words of SVG. */
  d?: string;
  fill?: string;
  stroke?: string;
  width?: number;
  dash?: string;
  opacity?: number;
  text?: string;
  x?: number;
  y?: number;
  anchor?: "start" | "middle" | "end";
  size?: number;
  bold?: boolean;
  /** A pixel for each cell, 0 for none; they fill `rect`. */
  cells?: { pixels: Uint32Array; rows: number; columns: number };
  /** The parts of a group, which is moved by x and y, and the path that they are clipped to. */
  parts?: Shape[];
  clip?: string;
}
