// Tasks: `tileir check` and `tileir lint` on the program in the editor, with a matcher for what they find.

import * as vscode from "vscode";
import { folderOf, program } from "./installation";

const TYPE = "tileir";
const COMMANDS = ["check", "lint"];

interface Definition extends vscode.TaskDefinition {
  command?: string;
  file?: string;
}

export function registerTasks(): vscode.Disposable[] {
  return [
    vscode.tasks.registerTaskProvider(TYPE, {
      provideTasks: () => COMMANDS.map((command) => task({ type: TYPE, command }, folderOf() ?? vscode.TaskScope.Workspace)),
      resolveTask: (asked) => {
        const definition: Definition = asked.definition;
        return COMMANDS.includes(definition.command ?? "") ? task(definition, asked.scope) : undefined;
      },
    }),
  ];
}

function task(definition: Definition, scope: vscode.Task["scope"]): vscode.Task {
  const command = definition.command ?? "check";
  const found = program(typeof scope === "object" ? scope : folderOf());
  const execution = new vscode.ProcessExecution(found.command, [
    ...found.arguments,
    command,
    definition.file ?? "${file}",
  ]);
  return new vscode.Task(definition, scope ?? vscode.TaskScope.Workspace, command, "tileir", execution, "$tileir");
}
