// What the palette and the buttons of an editor do.

import { execFile } from "child_process";
import * as vscode from "vscode";
import { ENVIRONMENT, folderOf, program, startingFolder } from "./installation";
import { Server } from "./server";

const CANONICAL = "tileir-canonical";

export function registerCommands(server: Server): vscode.Disposable[] {
  const canonical = new CanonicalTexts();
  return [
    canonical.changed,
    vscode.workspace.registerTextDocumentContentProvider(CANONICAL, canonical),
    vscode.workspace.onDidSaveTextDocument((document) => canonical.changed.fire(canonicalOf(document.uri))),
    vscode.commands.registerCommand("tileir.restartServer", () => server.restart()),
    vscode.commands.registerCommand("tileir.showOutput", () => server.showOutput()),
    vscode.commands.registerCommand("tileir.showCanonical", showCanonical),
    vscode.commands.registerCommand("tileir.explore", explore),
  ];
}

function active(): vscode.TextDocument | undefined {
  return vscode.window.activeTextEditor?.document;
}

/** The program as the printer writes it, beside the text. */
async function showCanonical(): Promise<void> {
  const document = active();
  if (document) {
    const text = await vscode.workspace.openTextDocument(canonicalOf(document.uri));
    await vscode.languages.setTextDocumentLanguage(text, "tileir");
    await vscode.window.showTextDocument(text, { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true });
  }
}

function canonicalOf(uri: vscode.Uri): vscode.Uri {
  return vscode.Uri.from({ scheme: CANONICAL, path: uri.path, query: uri.toString() });
}

class CanonicalTexts implements vscode.TextDocumentContentProvider {
  readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(uri.query));
    const found = program(folderOf(document.uri));
    return new Promise((resolve) => {
      const options = {
        maxBuffer: 1 << 28,
        cwd: startingFolder(folderOf(document.uri)),
        env: { ...process.env, ...ENVIRONMENT },
      };
      const child = execFile(found.command, [...found.arguments, "opt", "-O0", "-"], options, (error, out, complaint) => {
        resolve(error ? comment(complaint || error.message) : out);
      });
      child.stdin?.on("error", () => undefined);
      child.stdin?.end(document.getText());
    });
  }
}

function comment(text: string): string {
  return text.trimEnd().split("\n").map((line) => `// ${line}\n`).join("");
}

/** `tileir explore` in a terminal, where what it says about the launch can be read; it opens the browser. */
async function explore(): Promise<void> {
  const document = active();
  if (document && (await document.save())) {
    const found = program(folderOf(document.uri));
    const terminal = vscode.window.createTerminal({
      name: "tileir explore",
      cwd: startingFolder(folderOf(document.uri)),
      env: ENVIRONMENT,
      shellPath: found.command,
      shellArgs: [...found.arguments, "explore", document.fileName],
    });
    terminal.show(true);
  }
}
