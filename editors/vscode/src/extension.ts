// What Visual Studio Code loads: the parts of the extension, put together.

import * as vscode from "vscode";
import { registerBytecode } from "./bytecode";
import { registerCommands } from "./commands";
import { registerDebugger } from "./debugger";
import { registerDetection } from "./detection";
import { Server } from "./server";
import { registerTasks } from "./tasks";

export function activate(context: vscode.ExtensionContext): void {
  const server = new Server();
  context.subscriptions.push(
    server,
    ...registerDetection(),
    ...registerBytecode(server),
    ...registerCommands(server),
    ...registerDebugger(),
    ...registerTasks(),
  );
  // All else works without it, and while it starts.
  void server.start();
}

export function deactivate(): void {
  // What was registered is disposed of with the context, the server among it.
}
