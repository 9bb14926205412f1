// Bytecode as text: opening a `.tileirbc` file shows what it holds, as the server disassembles it.

import * as vscode from "vscode";
import { Server } from "./server";

const SCHEME = "tileirbc";

export function registerBytecode(server: Server): vscode.Disposable[] {
  const texts = new BytecodeTexts(server);
  const watcher = vscode.workspace.createFileSystemWatcher("**/*.tileirbc");
  return [
    watcher,
    watcher.onDidChange((file) => texts.changed.fire(asText(file))),
    watcher.onDidCreate((file) => texts.changed.fire(asText(file))),
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, texts),
    vscode.window.registerCustomEditorProvider("tileir.bytecode", new BytecodeEditor(), {
      supportsMultipleEditorsPerDocument: true,
    }),
    vscode.commands.registerCommand("tileir.disassemble", async (file?: vscode.Uri) => {
      const chosen = file ?? (await choose());
      if (chosen) {
        await open(chosen, vscode.ViewColumn.Active);
      }
    }),
  ];
}

function asText(file: vscode.Uri): vscode.Uri {
  return file.with({ scheme: SCHEME });
}

async function choose(): Promise<vscode.Uri | undefined> {
  const chosen = await vscode.window.showOpenDialog({ filters: { "Tile IR bytecode": ["tileirbc"] } });
  return chosen?.[0];
}

async function open(file: vscode.Uri, column: vscode.ViewColumn): Promise<void> {
  const document = await vscode.workspace.openTextDocument(asText(file));
  await vscode.languages.setTextDocumentLanguage(document, "tileir");
  await vscode.window.showTextDocument(document, { viewColumn: column, preview: true });
}

class BytecodeTexts implements vscode.TextDocumentContentProvider {
  readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;

  constructor(private readonly server: Server) {}

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    try {
      const answer = await this.server.ask<{ text: string }>("tileir/disassemble", {
        uri: uri.with({ scheme: "file" }).toString(),
      });
      return answer.text;
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      return words.split("\n").map((line) => `// ${line}\n`).join("");
    }
  }
}

/** Opens the text in its own place: an editor of its own could not be colored or searched like one. */
class BytecodeEditor implements vscode.CustomReadonlyEditorProvider {
  openCustomDocument(uri: vscode.Uri): vscode.CustomDocument {
    return { uri, dispose: () => undefined };
  }

  async resolveCustomEditor(document: vscode.CustomDocument, panel: vscode.WebviewPanel): Promise<void> {
    const column = panel.viewColumn ?? vscode.ViewColumn.Active;
    setTimeout(async () => {
      panel.dispose();
      await open(document.uri, column);
    });
  }
}
