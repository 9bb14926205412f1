// Which `.mlir` files are tile programs: the text says, whoever else has a name for such files.

import * as vscode from "vscode";

const LINES = 200;
const PROGRAM = /^\s*(?:cuda_tile\.module|(?:cuda_tile\.)?entry)\s+@|"cuda_tile\.module"/;

export function isProgram(document: vscode.TextDocument): boolean {
  for (let line = 0; line < Math.min(LINES, document.lineCount); line++) {
    if (PROGRAM.test(document.lineAt(line).text)) {
      return true;
    }
  }
  return false;
}

export function registerDetection(): vscode.Disposable[] {
  // A file that somebody has given another language by hand is left alone.
  const seen = new Set<string>();
  const look = async (document: vscode.TextDocument): Promise<void> => {
    const key = document.uri.toString();
    const other = document.languageId === "mlir" || document.languageId === "plaintext";
    if (seen.has(key) || !other || !document.fileName.endsWith(".mlir")) {
      return;
    }
    if (vscode.workspace.getConfiguration("tileir", document).get<boolean>("detectPrograms", true) && isProgram(document)) {
      seen.add(key);
      await vscode.languages.setTextDocumentLanguage(document, "tileir");
    }
  };
  vscode.workspace.textDocuments.forEach(look);
  return [
    vscode.workspace.onDidOpenTextDocument(look),
    // A file that was empty when it was opened says so later.
    vscode.workspace.onDidSaveTextDocument(look),
    vscode.workspace.onDidDeleteFiles((event) => event.files.forEach((uri) => seen.delete(uri.toString()))),
  ];
}
