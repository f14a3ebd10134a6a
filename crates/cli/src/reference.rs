//! The reference of the command line, made from the arguments themselves.

use clap::{Arg, Command, CommandFactory};

use crate::arguments::Arguments;

/// All of it, as Markdown.
pub(crate) fn markdown() -> String {
    let mut root = Arguments::command().term_width(100);
    root.build();
    let mut text = format!("# `{}`\n\n", root.get_name());
    text += "<!-- Made by `cargo xtask generate` from crates/cli/src/arguments.rs; do not edit. -->\n\n";
    text += &about(&root);
    for command in
        root.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help")
    {
        text += &sections(command, root.get_name());
    }
    text
}

/// The pages of the scenario format, each after a line `FILE path`.
pub(crate) fn scenario_pages() -> String {
    let pages = laxity_scenario::keys::pages();
    pages.into_iter().map(|(path, text)| format!("FILE {path}\n{text}")).collect()
}

/// The page of node files.
pub(crate) fn node_files() -> String {
    let front = "# Node files\n\n\
        <!-- Made by `cargo xtask generate` from crates/service/src/node_file.rs; do not edit. -->\n\n\
        A node file describes a node for [`laxity serve`](serve.md). \
        [examples/nodes/camera.toml](../examples/nodes/camera.toml) is one, `laxity explain link.ingress` \
        prints what a key means, and `laxity schema --node` is the same for editors. Times and rates are \
        written as in [scenarios](scenario.md). A key marked * is needed.\n";
    laxity_scenario::keys::page_of(&node_schema(), front)
}

/// The schema of node files.
pub(crate) fn node_schema() -> serde_json::Value {
    laxity_scenario::schema_of::<laxity_service::NodeFile>()
}

/// The command's section, or one for each command that it holds.
fn sections(command: &Command, program: &str) -> String {
    if !command.has_subcommands() {
        return section(command, program);
    }
    let program = format!("{program} {}", command.get_name());
    let held = command.get_subcommands().filter(|held| held.get_name() != "help");
    held.map(|held| sections(held, &program)).collect()
}

fn section(command: &Command, program: &str) -> String {
    let mut text = format!("## `{program} {}`\n\n", command.get_name());
    text += &about(command);
    let mut line = format!("{program} {}", command.get_name());
    let arguments: Vec<&Arg> = command.get_arguments().filter(|arg| arg.get_id() != "help").collect();
    if arguments.iter().any(|arg| !arg.is_positional()) {
        line += " [OPTIONS]";
    }
    for argument in arguments.iter().filter(|arg| arg.is_positional()) {
        line += &format!(" {argument}");
    }
    text += &format!("```text\n{line}\n```\n\n");
    if arguments.is_empty() {
        return text;
    }
    text += "| argument | meaning |\n|---|---|\n";
    for argument in arguments {
        let help =
            argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
        let defaults: Vec<String> = argument
            .get_default_values()
            .iter()
            .map(|value| format!("`{}`", value.to_string_lossy()))
            .collect();
        let default = match defaults.is_empty() || !argument.get_action().takes_values() {
            true => String::new(),
            false => format!(" Default {}.", defaults.join(", ")),
        };
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
        let stop = if help.ends_with('.') { "" } else { "." };
        text += &format!("| `{argument}` | {help}{stop}{default} |\n");
    }
    text + "\n"
}

fn about(command: &Command) -> String {
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let stop = if about.ends_with('.') { "" } else { "." };
    format!("{}{stop}\n\n", about.trim())
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_command_is_in_the_reference() {
        let text = super::markdown();
        for heading in ["run", "admit", "check", "reproduce", "adapter check", "adapter show", "schema"] {
            assert!(text.contains(&format!("## `laxity {heading}`")), "{text}");
        }
        assert!(!text.contains("`laxity reference`") && text.contains("| `--seed <N>` |"), "{text}");
    }
}
