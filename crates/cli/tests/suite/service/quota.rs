//! Tenants: users and groups that share one quota.

use std::os::unix::fs::MetadataExt;

use super::*;

/// Reads the file of a node with these quotas.
fn with_quotas(net: &Net, node: &str, text: &str, quotas: &str) {
    let before = net.log(node).matches("reloaded").count();
    net.set_text(node, &format!("{text}\n{quotas}"));
    net.signal(node, "-HUP");
    until("the file is read again", || net.log(node).matches("reloaded").count() > before);
}

#[test]
fn programs_of_a_tenant_share_one_quota_at_each_node() {
    let net = Net::loopback(220, &["a", "b"]);
    let own = std::fs::metadata("/proc/self").unwrap();
    let (near, far) = (net.text("a"), net.text("b"));
    let cinema = |channels: u32| format!("[quota.cinema]\nusers = [{}]\nchannels = {channels}\n", own.uid());
    with_quotas(&net, "a", &near, &cinema(2));
    let _listener = net.client("b").listen("film").unwrap();
    net.know("a", "film");
    let [one, other] = [(); 2].map(|()| net.client("a"));
    let slow = Contract::periodic(100, 100 * MS, 100 * MS);
    let mut channels: Vec<Channel> =
        [&one, &other].iter().map(|client| client.open("film", slow).unwrap()).collect();
    let refusal = refused(one.open("film", slow));
    assert!(refusal.node == "a" && refusal.resource.contains("quota of channels"), "{refusal}");
    let mut command = net.laxity();
    let shown = command.arg("node").env("LAXITY_SOCKET", net.socket("a")).output().unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    let row = shown.lines().find(|line| line.starts_with("quota of cinema")).unwrap_or_default();
    assert!(row.contains(" 2 of 2 channels, 2000 B/s, 2 buffers, "), "{shown}");
    // More at once, for programs that are connected; then less, and the channels stay.
    with_quotas(&net, "a", &near, &cinema(3));
    channels.push(other.open("film", slow).unwrap());
    with_quotas(&net, "a", &near, &cinema(1));
    assert!(matches!(one.open("film", slow), Err(Error::Refused(_))));
    assert!(channels.iter_mut().all(|channel| channel.send(&[1]).is_ok()));
    assert!(!net.log("a").contains("restart"), "{}", net.log("a"));
    // The other end has a quota of its own for the tenant, and knows it by its name.
    with_quotas(&net, "a", &near, &cinema(9));
    with_quotas(&net, "b", &far, "[quota.cinema]\nchannels = 3\n");
    let refusal = refused(one.open("film", slow));
    assert!(refusal.node == "b" && refusal.resource.contains("quota of channels"), "{refusal}");
    let owners = net.client("b").status().unwrap().owners;
    assert_eq!(
        owners.iter().map(|share| (&share.owner[..], share.used[0])).collect::<Vec<_>>(),
        [("cinema", 3)]
    );
    drop(channels);
    until("all are over", || net.client("b").status().unwrap().owners.is_empty());
    // A program that connects now belongs to another tenant, by its group.
    with_quotas(&net, "a", &near, &format!("[quota.crew]\ngroups = [{}]\nchannels = 0\n", own.gid()));
    let refusal = refused(net.client("a").open("film", slow));
    assert!(refusal.node == "a" && refusal.resource.contains("quota of channels"), "{refusal}");
    drop(one.open("film", slow).unwrap());
    // A file with a user in two tables has no effect.
    let twice = format!("{}[quota.{}]\nchannels = 9\n", cinema(9), own.uid());
    net.set_text("a", &format!("{near}\n{twice}"));
    net.signal("a", "-HUP");
    until("it is refused", || {
        net.log("a").contains("not reloaded") && net.log("a").contains("is listed twice")
    });
}
