//! Starts `tileir lsp` for tile programs. The command is the one on the path of the project, or what the settings name:
//! `"lsp": {"tileir": {"binary": {"path": ".venv/bin/tileir"}, "initialization_options": {..}}}`.

use zed_extension_api::{self as zed, serde_json::Value, settings::LspSettings, LanguageServerId, Worktree};

struct TileIr;

impl TileIr {
    fn settings(server: &LanguageServerId, worktree: &Worktree) -> LspSettings {
        LspSettings::for_worktree(server.as_ref(), worktree).unwrap_or_default()
    }
}

impl zed::Extension for TileIr {
    fn new() -> Self {
        TileIr
    }

    fn language_server_command(&mut self, server: &LanguageServerId, worktree: &Worktree) -> zed::Result<zed::Command> {
        let named = Self::settings(server, worktree).binary.and_then(|binary| binary.path);
        let command = named
            .or_else(|| worktree.which("tileir"))
            .ok_or("tileir is not on the path: pip install 'tileir[lsp]'")?;
        Ok(zed::Command { command, args: vec!["lsp".into()], env: worktree.shell_env() })
    }

    fn language_server_initialization_options(
        &mut self,
        server: &LanguageServerId,
        worktree: &Worktree,
    ) -> zed::Result<Option<Value>> {
        Ok(Self::settings(server, worktree).initialization_options)
    }
}

zed::register_extension!(TileIr);
