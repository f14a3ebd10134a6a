//! A scenario as a recipe for Linux: a shell script that sets up queues, adapters and programs as
//! near to the scenario as Linux can, and says what it cannot keep.
//!
//! The recipe is text of an experiment alone; no command is run. A queue of the scenario becomes the
//! queueing discipline of `tc` with the same order where Linux has one, and the nearest one
//! otherwise. Each difference is a comment `# Not kept: …` at the head, with the places that it
//! concerns.
//!
//! Sources: tc-prio(8), tc-mqprio(8), tc-cbs(8), tc-taprio(8), tc-etf(8), tc-htb(8), tc-drr(8) and
//! tc-stab(8) of iproute2, ethtool(8), and socket(7). Credits of shapers: IEEE 802.1Q-2018, Annex L.

mod adapter;
mod classes;
mod fair;
mod missing;
mod nodes;
mod port;
mod reception;
mod section;
mod shaped;

use std::fmt;

use laxity_world::experiment::Experiment;
use laxity_world::text::clean;

use classes::Classes;
use missing::Missing;

/// Why a scenario has no recipe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoRecipe {
    /// Its programs use virtual interfaces past the kernel.
    VirtualInterfaces,
    /// No host or switch has the name.
    NoSuchHost {
        /// The names of all hosts and switches.
        valid: Vec<String>,
    },
}

impl fmt::Display for NoRecipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoRecipe::VirtualInterfaces => f.write_str(
                "programs of this scenario use virtual interfaces (`[via]`) past the kernel, so it has no host \
                 with a link that Linux could set up; `laxity emulate` opens the adapters",
            ),
            NoRecipe::NoSuchHost { valid } => {
                write!(f, "no host or switch has this name; valid is one of {}", valid.join(", "))
            }
        }
    }
}

/// The recipe of `experiment` as a POSIX shell script: of the host or switch called `only`, or of
/// all, chosen by the first argument of the script.
///
/// # Errors
///
/// [`NoRecipe`] if the scenario has no hosts on links, or none called `only`.
pub fn recipe(experiment: &Experiment, title: &str, only: Option<&str>) -> Result<String, NoRecipe> {
    if experiment.virtual_interfaces().is_some() {
        return Err(NoRecipe::VirtualInterfaces);
    }
    let nodes = nodes::names(experiment);
    let chosen: Vec<usize> = match only {
        None => (0..nodes.len()).collect(),
        Some(name) => vec![
            nodes
                .iter()
                .position(|node| node == name)
                .ok_or_else(|| NoRecipe::NoSuchHost { valid: nodes.clone() })?,
        ],
    };
    let classes = Classes::new(experiment);
    let mut missing = Missing::default();
    // Nodes with the same lines share them.
    let mut sections: Vec<(Vec<&str>, Vec<String>)> = Vec::new();
    for &node in &chosen {
        let lines = nodes::lines(experiment, &classes, node, &mut missing);
        match sections.iter_mut().find(|(_, others)| *others == lines) {
            Some((names, _)) => names.push(&nodes[node]),
            None => sections.push((vec![&nodes[node]], lines)),
        }
    }
    missing.of_experiment(experiment, &classes);
    Ok(script(title, &sections, &missing))
}

/// The script of `sections`, each with the names of its nodes.
fn script(title: &str, sections: &[(Vec<&str>, Vec<String>)], missing: &Missing) -> String {
    let mut text = format!("#!/bin/sh\n# {}\n#\n", clean(title));
    text += "# Made by `laxity recipe`: the scenario as settings of Linux. Run it as root.\n";
    text += "# Names of interfaces are guesses; set the variables DEV… to those of the host.\n";
    if !missing.is_empty() {
        text += "#\n";
        text += &missing.lines();
    }
    text += "\nset -eu\n";
    if sections.iter().any(|(_, lines)| lines.iter().any(|line| line.starts_with("affinity "))) {
        text += AFFINITY;
    }
    match sections {
        [(names, lines)] if names.len() == 1 => {
            text += &format!("\n# {}\n", names[0]);
            lines.iter().for_each(|line| text += &format!("{line}\n"));
        }
        _ => {
            let all: Vec<&str> = sections.iter().flat_map(|(names, _)| names.iter().copied()).collect();
            text += &format!(
                "\nnode=${{1:?the name of this host or switch}}\n# Valid names: {}\ncase \"$node\" in\n",
                all.join(", ")
            );
            for (names, lines) in sections {
                let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
                text += &format!("{})\n", names.join(" | "));
                lines.iter().for_each(|line| text += &indented(line));
                text += "    ;;\n";
            }
            text +=
                "*)\n    echo \"$node is no host or switch of this recipe\" >&2\n    exit 2\n    ;;\nesac\n";
        }
    }
    text
}

fn indented(line: &str) -> String {
    if line.is_empty() { "\n".into() } else { format!("    {line}\n") }
}

/// A function of the script: interrupts of an interface go to the cores, in turn.
const AFFINITY: &str = r#"
# affinity DEV CORE…: the interrupts of DEV go to these cores, in turn. Stop irqbalance first.
affinity() {
    affinity_dev=$1
    shift
    for irq in $(grep -wF "$affinity_dev" /proc/interrupts | cut -d: -f1); do
        echo "$1" > "/proc/irq/$irq/smp_affinity_list"
        set -- "$@" "$1"
        shift
    done
}
"#;
