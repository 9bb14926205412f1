// The language server: started with the extension, started again when asked or when its settings change.

import * as vscode from "vscode";
import {
  LanguageClient,
  LanguageClientOptions,
  Middleware,
  ServerOptions,
  State,
  Trace,
} from "vscode-languageclient/node";
import { ENVIRONMENT, folderOf, program, startingFolder } from "./installation";

const INSTALLING = "pip install 'tileir[lsp,run]'";
// Of these settings the server hears by `workspace/didChangeConfiguration`; others need a new one.
const NEEDS_RESTART = ["tileir.command", "tileir.python", "tileir.server.arguments", "tileir.cutile.enable"];

export class Server implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private readonly log = vscode.window.createOutputChannel("CUDA Tile IR", { log: true });
  private readonly status = vscode.languages.createLanguageStatusItem("tileir.server", { language: "tileir" });
  private readonly watching: vscode.Disposable[];

  constructor() {
    this.status.name = "CUDA Tile IR";
    this.status.command = { command: "tileir.showOutput", title: "Log" };
    this.watching = [
      vscode.workspace.onDidChangeConfiguration(async (change) => {
        if (NEEDS_RESTART.some((name) => change.affectsConfiguration(name))) {
          await this.restart();
        }
      }),
      // The folder may have a tileir of its own.
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.restart()),
    ];
  }

  async start(): Promise<void> {
    const folder = folderOf();
    const found = program(folder);
    const settings = vscode.workspace.getConfiguration("tileir", folder);
    const further = settings.get<string[]>("server.arguments", []);
    const executable = {
      command: found.command,
      args: [...found.arguments, "lsp", ...further],
      options: { cwd: startingFolder(folder), env: ENVIRONMENT },
    };
    const server: ServerOptions = { run: executable, debug: executable };
    const client = new LanguageClient("tileir", "CUDA Tile IR", server, this.options(settings));
    client.onDidChangeState((change) => this.show(change.newState));
    this.client = client;
    this.log.info(`starting ${executable.command} ${executable.args.join(" ")}`);
    try {
      await client.start();
      await client.setTrace(Trace.fromString(settings.get<string>("trace.server", "off")));
    } catch (error) {
      this.client = undefined;
      await this.explain(found.command, error);
    }
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** Ask the server something; a mistake is what it says. */
  async ask<Answer>(method: string, parameters: object): Promise<Answer> {
    if (!this.client) {
      throw new Error("the language server is not running");
    }
    return this.client.sendRequest<Answer>(method, parameters);
  }

  showOutput(): void {
    this.log.show();
  }

  dispose(): void {
    void this.stop();
    this.watching.forEach((each) => each.dispose());
    this.status.dispose();
    this.log.dispose();
  }

  private async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    // One that is starting or has died cannot be stopped in good order.
    await client?.dispose().catch((error) => this.log.debug(String(error)));
  }

  private options(settings: vscode.WorkspaceConfiguration): LanguageClientOptions {
    const selector = [
      { language: "tileir", scheme: "file" },
      { language: "tileir", scheme: "untitled" },
      { language: "tileir", scheme: "tileirbc" },
    ];
    if (settings.get<boolean>("cutile.enable", true)) {
      selector.push({ language: "python", scheme: "file" });
    }
    return {
      documentSelector: selector,
      outputChannel: this.log,
      initializationOptions: JSON.parse(JSON.stringify(settings)),
      synchronize: {
        configurationSection: "tileir",
        fileEvents: vscode.workspace.createFileSystemWatcher("**/{*.mlir,*.tileir,*.tileirbc,pyproject.toml}"),
      },
      markdown: { isTrusted: false, supportHtml: false },
      middleware: this.forKernelsOnly(),
    };
  }

  /** Python files go to the server only where they have something for it: it reads cuTile kernels, no other Python. */
  private forKernelsOnly(): Middleware {
    const left = new Set<string>();
    const isLeft = (document: vscode.TextDocument): boolean => left.has(document.uri.toString());
    return {
      didOpen: async (document, next) => {
        if (document.languageId === "python" && !/\bcuda\s*\.\s*tile\b|\bfrom\s+cuda\s+import\b/.test(document.getText())) {
          left.add(document.uri.toString());
        } else {
          await next(document);
        }
      },
      didChange: async (event, next) => (isLeft(event.document) ? undefined : next(event)),
      // A script that is saved may be compiled, which runs it (`tileir.cutile.compile`): never without trust.
      didSave: async (document, next) => {
        const runs = document.languageId === "python" && !vscode.workspace.isTrusted;
        return isLeft(document) || runs ? undefined : next(document);
      },
      didClose: async (document, next) => (left.delete(document.uri.toString()) ? undefined : next(document)),
    };
  }

  private show(state: State): void {
    const failed = state === State.Stopped;
    this.status.text = failed ? "Tile IR: no server" : "Tile IR";
    this.status.severity = failed ? vscode.LanguageStatusSeverity.Warning : vscode.LanguageStatusSeverity.Information;
    this.status.busy = state === State.Starting;
  }

  private async explain(command: string, error: unknown): Promise<void> {
    this.log.error(String(error));
    const message = `The language server '${command} lsp' does not start. It comes with: ${INSTALLING}`;
    const answer = await vscode.window.showWarningMessage(message, "Copy the command", "Settings", "Log");
    if (answer === "Copy the command") {
      await vscode.env.clipboard.writeText(INSTALLING);
    } else if (answer === "Settings") {
      await vscode.commands.executeCommand("workbench.action.openSettings", "tileir.command");
    } else if (answer === "Log") {
      this.showOutput();
    }
  }
}
