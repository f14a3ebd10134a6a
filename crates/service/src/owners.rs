//! The owner that pays for the channels of a program: a tenant of the node file, or the user.
//!
//! A table of `[quota]` is that of a user, by number, or of a tenant, by name. A tenant lists users
//! and groups, and all of its programs share one quota. The kernel names user and group of a program
//! when it connects. A user counts before a group, and each is in one table at most, so that one
//! owner follows.
//!
//! A request for a channel carries the owner as a number, and each node on the route has quotas of its
//! own. The number of a user is that of the system. The number of a tenant follows from its name, so
//! a tenant is the same at all nodes that name it.

use std::collections::BTreeMap;

use laxity_client::protocol::QuotaShare;
use laxity_client::socket::Peer;
use laxity_signalling::contract::QuotaClaim;
use laxity_signalling::identity::Owner;
use laxity_signalling::quota::{Quota, Quotas};

use crate::journal::hash;
use crate::node_file::QuotaFile;

/// The name of the table for users without one.
const DEFAULT: &str = "default";
/// Numbers of tenants have this bit; no system gives such a number to a user that logs in.
const TENANT: u32 = 1 << 31;

/// The owners of programs, from the tables of a node file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Owners {
    users: BTreeMap<u32, Owner>,
    groups: BTreeMap<u32, Owner>,
    /// The names of tenants.
    names: BTreeMap<Owner, String>,
}

impl Owners {
    /// The owners that the tables `quota` name.
    ///
    /// # Errors
    /// A sentence with the table: a name is none, or a user or group is in two tables.
    pub(crate) fn of(quota: &BTreeMap<String, QuotaFile>) -> Result<Self, String> {
        let mut owners = Self::default();
        for (name, table) in quota {
            let of = |why: String| format!("`[quota.{name}]`: {why}");
            let user = name.parse::<u32>().ok();
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
                return Err(of("a tenant has 1 to 64 letters, digits, hyphens and underscores".to_owned()));
            }
            if (user.is_some() || name == DEFAULT) && !(table.users.is_empty() && table.groups.is_empty()) {
                return Err(
                    of("`users` and `groups` belong to a table with the name of a tenant".to_owned()),
                );
            }
            let Some(owner) = owner(name) else { continue };
            if let Some(other) = owners.names.insert(owner, name.clone()) {
                return Err(of(format!("its number is that of `{other}`, so it needs another name")));
            }
            for user in user.iter().chain(&table.users) {
                if owners.users.insert(*user, owner).is_some() {
                    return Err(of(format!("user {user} has a table, or is listed twice")));
                }
            }
            for group in &table.groups {
                if owners.groups.insert(*group, owner).is_some() {
                    return Err(of(format!("group {group} is listed twice")));
                }
            }
        }
        Ok(owners)
    }

    /// The owner of a program: by its user, else by its group, else the user.
    pub(crate) fn owner(&self, peer: Peer) -> Owner {
        let known = self.users.get(&peer.uid).or_else(|| self.groups.get(&peer.gid));
        known.copied().unwrap_or(Owner(peer.uid))
    }

    /// The reservations of an owner beside its quota, as programs see them.
    pub(crate) fn share(&self, owner: Owner, used: &Quota, limit: &Quota) -> QuotaShare {
        let limit = limit.amounts().map(|limit| (limit != u64::MAX).then_some(limit));
        QuotaShare { owner: self.name(owner), used: used.amounts(), limit }
    }

    /// The name of an owner.
    fn name(&self, owner: Owner) -> String {
        match self.names.get(&owner) {
            Some(name) if owner.0 & TENANT != 0 => name.clone(),
            _ if owner.0 & TENANT != 0 => format!("tenant {}", owner.0),
            _ => format!("user {}", owner.0),
        }
    }
}

/// The owner of a table; `None` for that of users without one.
fn owner(name: &str) -> Option<Owner> {
    match name.parse() {
        Ok(user) => Some(Owner(user)),
        Err(_) if name == DEFAULT => None,
        Err(_) => Some(Owner((hash(name.as_bytes()) >> 32) as u32 | TENANT)),
    }
}

/// The quotas of the tables.
pub(crate) fn quotas(quota: &BTreeMap<String, QuotaFile>) -> Quotas {
    let mut quotas = Quotas::new(quota.get(DEFAULT).map_or(Quota::UNLIMITED, limit));
    for (name, table) in quota {
        if let Some(owner) = owner(name) {
            quotas.set(owner, limit(table));
        }
    }
    quotas
}

fn limit(table: &QuotaFile) -> Quota {
    let unlimited = Quota::UNLIMITED.claim;
    let bandwidth = table.bandwidth.map_or(unlimited.bandwidth, |rate| rate.bytes_per_sec_f64() as u64);
    let buffers = table.buffers.unwrap_or(unlimited.buffers);
    let cpu = table.cpu.map_or(unlimited.cpu, |part| (part * 1e6) as u64);
    let channels = table.channels.unwrap_or(Quota::UNLIMITED.channels);
    Quota { channels, claim: QuotaClaim { bandwidth, buffers, cpu } }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(text: &str) -> BTreeMap<String, QuotaFile> {
        toml::from_str(text).unwrap()
    }

    fn of(owners: &Owners, uid: u32, gid: u32) -> String {
        owners.name(owners.owner(Peer { uid, gid, pid: 1 }))
    }

    const FILE: &str = "[default]\nchannels = 1\n[1000]\nchannels = 9\n\
        [cinema]\nusers = [1001, 1002]\ngroups = [27]\nchannels = 3\n[drone]\ngroups = [44]\nchannels = 4\n";

    #[test]
    fn a_user_counts_before_a_group_and_members_share_one_quota() {
        let tables = tables(FILE);
        let owners = Owners::of(&tables).unwrap();
        for (uid, gid, owner) in [
            (1000, 27, "user 1000"),
            (1001, 44, "cinema"),
            (1002, 1002, "cinema"),
            (1003, 27, "cinema"),
            (1003, 44, "drone"),
            (1003, 1003, "user 1003"),
            (0, 0, "user 0"),
        ] {
            assert_eq!(of(&owners, uid, gid), owner, "{uid} {gid}");
        }
        let quotas = quotas(&tables);
        let channels = |uid, gid| quotas.of(owners.owner(Peer { uid, gid, pid: 1 })).channels;
        assert_eq!([channels(1000, 0), channels(1001, 0), channels(9, 44), channels(9, 9)], [9, 3, 4, 1]);
        // The log of a daemon has the same quotas.
        assert_eq!(crate::journal::quotas(crate::journal::limits(&quotas)), quotas);
        // At a node that does not name the tenant.
        assert!(Owners::default().name(owner("cinema").unwrap()).starts_with("tenant "));
    }

    #[test]
    fn tables_that_name_no_single_owner_are_refused() {
        for (table, why) in [
            ("[drone]\nusers = [1000]", "user 1000"),
            ("[drone]\nusers = [1]\n[film]\nusers = [1]", "user 1"),
            ("[drone]\ngroups = [7, 7]", "group 7"),
            ("[default]\nusers = [7]", "name of a tenant"),
            ("[1001]\ngroups = [7]", "name of a tenant"),
            ("['a b']\nchannels = 1", "letters"),
        ] {
            let error = Owners::of(&tables(&format!("[1000]\nchannels = 9\n{table}"))).unwrap_err();
            assert!(error.contains(why) && error.contains("[quota."), "{error}");
        }
    }
}
