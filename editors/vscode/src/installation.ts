// Where tileir is: a command, or a Python that has it.

import * as fs from "fs";
import * as os from "os";
import * as path from "path";
import * as vscode from "vscode";

export interface Program {
  readonly command: string;
  readonly arguments: string[];
}

/** The command line of tileir, up to its subcommand. */
export function program(folder?: vscode.WorkspaceFolder, python?: string): Program {
  const settings = vscode.workspace.getConfiguration("tileir", folder);
  const chosen = python || settings.get<string>("python", "");
  if (chosen) {
    return { command: expand(chosen, folder), arguments: ["-m", "tileir"] };
  }
  const command = settings.get<string>("command", "tileir");
  if (command !== "tileir") {
    return { command: expand(command, folder), arguments: [] };
  }
  return { command: inEnvironment(folder) ?? command, arguments: [] };
}

/** For each process of tileir: Python would otherwise look for modules in the folder that it is started in. */
export const ENVIRONMENT = { PYTHONSAFEPATH: "1" };

/** Where the server is started: not in a folder that is not trusted, which may have modules of Python's names. */
export function startingFolder(folder?: vscode.WorkspaceFolder): string {
  return vscode.workspace.isTrusted && folder?.uri.scheme === "file" ? folder.uri.fsPath : os.homedir();
}

/** The folder of a file, or the only one. */
export function folderOf(uri?: vscode.Uri): vscode.WorkspaceFolder | undefined {
  const own = uri && vscode.workspace.getWorkspaceFolder(uri);
  return own ?? vscode.workspace.workspaceFolders?.[0];
}

/** tileir in the virtual environment of a folder, which only a trusted folder may choose. */
function inEnvironment(folder?: vscode.WorkspaceFolder): string | undefined {
  if (!folder || folder.uri.scheme !== "file" || !vscode.workspace.isTrusted) {
    return undefined;
  }
  const place = process.platform === "win32" ? ["Scripts", "tileir.exe"] : ["bin", "tileir"];
  const candidates = [".venv", "venv"].map((name) => path.join(folder.uri.fsPath, name, ...place));
  return candidates.find((candidate) => fs.existsSync(candidate));
}

function expand(text: string, folder?: vscode.WorkspaceFolder): string {
  const home = process.env["HOME"] ?? process.env["USERPROFILE"] ?? "~";
  return text.replace(/^~(?=\/|\\|$)/, home).replace(/\$\{workspaceFolder\}/g, folder?.uri.fsPath ?? "");
}
