// The debugger: how a launch that is not written down is asked for, and how the adapter is started.

import * as path from "path";
import * as vscode from "vscode";
import { folderOf, program } from "./installation";

const TYPE = "tileir";
const NAME = "Debug tile program";

export function registerDebugger(): vscode.Disposable[] {
  const launches = new Launches();
  return [
    vscode.debug.registerDebugConfigurationProvider(TYPE, launches),
    vscode.debug.registerDebugConfigurationProvider(TYPE, launches, vscode.DebugConfigurationProviderTriggerKind.Dynamic),
    vscode.debug.registerDebugAdapterDescriptorFactory(TYPE, new Adapters()),
    vscode.commands.registerCommand("tileir.debugFile", async (uri?: vscode.Uri) => {
      const file = uri ?? vscode.window.activeTextEditor?.document.uri;
      if (file) {
        await vscode.debug.startDebugging(folderOf(file), launch(file.fsPath));
      }
    }),
  ];
}

/** A launch as the file states it; where nothing else would stop it, it stops at its beginning. */
function launch(file: string): vscode.DebugConfiguration {
  const stopOnEntry = !vscode.debug.breakpoints.some((breakpoint) => breakpoint.enabled);
  return { type: TYPE, request: "launch", name: NAME, program: file, stopOnEntry };
}

class Launches implements vscode.DebugConfigurationProvider {
  provideDebugConfigurations(): vscode.DebugConfiguration[] {
    return [launch("${file}")];
  }

  /** F5 without a launch.json debugs the program in the editor. */
  resolveDebugConfiguration(
    _folder: vscode.WorkspaceFolder | undefined,
    asked: vscode.DebugConfiguration,
  ): vscode.ProviderResult<vscode.DebugConfiguration> {
    if (asked.type || asked.request || asked.name) {
      return asked.request === "launch" && !asked["program"] ? { ...asked, program: "${file}" } : asked;
    }
    const document = vscode.window.activeTextEditor?.document;
    if (document?.languageId !== "tileir") {
      void vscode.window.showInformationMessage("Open a tile program to debug it, or write a launch.json.");
      return undefined;
    }
    return launch(document.uri.fsPath);
  }

  /** A program that is edited is saved first: the debugger reads the file. A script that waits has printed a token. */
  async resolveDebugConfigurationWithSubstitutedVariables(
    _folder: vscode.WorkspaceFolder | undefined,
    asked: vscode.DebugConfiguration,
  ): Promise<vscode.DebugConfiguration | undefined> {
    if (asked.request === "attach" && !asked["token"]) {
      const prompt = "The token that the script has printed";
      const token = await vscode.window.showInputBox({ prompt, ignoreFocusOut: true });
      return token ? { ...asked, token: token.trim() } : undefined;
    }
    const file: unknown = asked["program"];
    const open = vscode.workspace.textDocuments.find((document) => document.fileName === file);
    if (open?.isDirty) {
      await open.save();
    }
    return asked;
  }
}

class Adapters implements vscode.DebugAdapterDescriptorFactory {
  createDebugAdapterDescriptor(session: vscode.DebugSession): vscode.DebugAdapterDescriptor {
    const asked = session.configuration;
    if (asked.request === "attach") {
      return new vscode.DebugAdapterServer(Number(asked["port"]), asked["host"] ?? "127.0.0.1");
    }
    const folder = session.workspaceFolder ?? folderOf();
    const found = program(folder, asked["python"]);
    return new vscode.DebugAdapterExecutable(found.command, [...found.arguments, "debug", "--dap"], {
      cwd: asked["cwd"] ?? folder?.uri.fsPath ?? path.dirname(String(asked["program"] ?? ".")),
      env: asked["env"] ?? {},
    });
  }
}
