//! Certificates: the proof of a node's name, and a test authority.

use std::cell::RefCell;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::check::{NAME, is_name};
use crate::node_file::{Keys, NodeFile, Security};

/// How this node proves its identity and checks that of others; TLS 1.3 alone.
pub(crate) struct Identity(RefCell<Option<(TlsConnector, TlsAcceptor)>>);

impl Identity {
    /// The identity that a node file names.
    ///
    /// # Errors
    /// A sentence: a file cannot be read, or is no certificate or key.
    pub(crate) fn of(security: &Security) -> Result<Self, String> {
        let Security::Keys(keys) = security else { return Ok(Self(RefCell::new(None))) };
        let (client, server) = configurations(keys)?;
        let both = (TlsConnector::from(Arc::new(client)), TlsAcceptor::from(Arc::new(server)));
        Ok(Self(RefCell::new(Some(both))))
    }

    /// From the next session on, the node has the identity `other`.
    pub(crate) fn replace(&self, other: Self) {
        self.0.replace(other.0.into_inner());
    }

    pub(crate) fn connector(&self) -> Option<TlsConnector> {
        self.0.borrow().as_ref().map(|(connector, _)| connector.clone())
    }

    pub(crate) fn acceptor(&self) -> Option<TlsAcceptor> {
        self.0.borrow().as_ref().map(|(_, acceptor)| acceptor.clone())
    }

    pub(crate) fn subject(name: &str) -> Result<ServerName<'static>, String> {
        ServerName::try_from(name.to_owned()).map_err(|_| format!("`{name}` is no name for a certificate"))
    }

    /// Checks that the certificate of a connecting node is that of `name`.
    pub(crate) fn check(&self, certificate: Option<&CertificateDer<'_>>, name: &str) -> Result<(), String> {
        let certificate = certificate.ok_or("it has no certificate")?;
        let certificate = webpki::EndEntityCert::try_from(certificate).map_err(|why| why.to_string())?;
        let valid = certificate.verify_is_valid_for_subject_name(&Self::subject(name)?);
        valid.map_err(|_| format!("its certificate is not that of `{name}`"))
    }
}

impl NodeFile {
    /// Checks certificates and key, if they are there: that they belong together and to the name.
    pub(crate) fn check_keys(&self) -> Result<(), String> {
        let Security::Keys(keys) = &self.security else { return Ok(()) };
        let Keys { authority, certificate, key } = keys;
        if [authority, certificate, key].into_iter().any(|path| !path.exists()) {
            return Ok(());
        }
        Identity::of(&self.security).map_err(|why| format!("`security`: {why}"))?;
        let of = |why: String| format!("`security.certificate`: {}", of(certificate, why));
        let chain = certificates(certificate)?;
        let (own, between) = chain.split_first().expect("it has certificates");
        let own = webpki::EndEntityCert::try_from(own).map_err(|why| of(why.to_string()))?;
        if own.verify_is_valid_for_subject_name(&Identity::subject(&self.name)?).is_err() {
            return Err(of(format!("it is not that of `{}`, the `name` of the node", self.name)));
        }
        let authorities = certificates(authority)?;
        let anchors = authorities.iter().map(webpki::anchor_from_trusted_cert);
        let anchors = anchors.collect::<Result<Vec<_>, _>>().map_err(|why| of(why.to_string()))?;
        let algorithms = ring::default_provider().signature_verification_algorithms.all;
        let usage = webpki::KeyUsage::server_auth();
        let now = UnixTime::now();
        match own.verify_for_usage(algorithms, &anchors, between, now, usage, None, None) {
            // A clock may be wrong until the network is there.
            Ok(_) | Err(webpki::Error::CertExpired { .. } | webpki::Error::CertNotValidYet { .. }) => Ok(()),
            Err(_) => Err(of(format!("`authority`, {}, did not sign it", authority.display()))),
        }
    }
}

/// The certificates in a file, of which there is at least one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_file_iter(path).map_err(|why| of(path, why))?;
    let all = read.collect::<Result<Vec<_>, _>>().map_err(|why| of(path, why))?;
    if all.is_empty() { Err(of(path, "it has no certificate")) } else { Ok(all) }
}

/// An error of a file.
fn of(path: &Path, why: impl std::fmt::Display) -> String {
    format!("{}: {why}", path.display())
}

fn configurations(keys: &Keys) -> Result<(ClientConfig, ServerConfig), String> {
    let key = || PrivateKeyDer::from_pem_file(&keys.key).map_err(|why| of(&keys.key, why));
    let mut roots = RootCertStore::empty();
    for certificate in certificates(&keys.authority)? {
        roots.add(certificate).map_err(|why| of(&keys.authority, why))?;
    }
    let (roots, chain) = (Arc::new(roots), certificates(&keys.certificate)?);
    let provider: Arc<CryptoProvider> = Arc::new(ring::default_provider());
    let wrong = |why: rustls::Error| match why {
        rustls::Error::InconsistentKeys(_) => {
            of(&keys.key, format!("it is not the key of {}", keys.certificate.display()))
        }
        other => of(&keys.certificate, other),
    };
    let versions = &[&rustls::version::TLS13];
    let client = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(versions)
        .map_err(wrong)?
        .with_root_certificates(roots.clone())
        .with_client_auth_cert(chain.clone(), key()?)
        .map_err(wrong)?;
    let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider.clone()).build();
    let server = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .map_err(wrong)?
        .with_client_cert_verifier(verifier.map_err(|why| of(&keys.authority, why))?)
        .with_single_cert(chain, key()?)
        .map_err(wrong)?;
    Ok((client, server))
}

/// Makes an authority and a certificate for each node in `directory`: for tests and small networks.
/// An authority that is there already signs further nodes. Answers the files that were written.
///
/// # Errors
/// A sentence: a name that no node can have, a file that exists, or one that cannot be read or written.
/// Names and files are checked before the first file is written.
pub fn make_keys(directory: &Path, nodes: &[String]) -> Result<Vec<PathBuf>, String> {
    use rcgen::{
        BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair,
        KeyUsagePurpose,
    };
    let (authority, authority_key) = (directory.join("authority.pem"), directory.join("authority.key"));
    let files =
        |node: &String| [directory.join(format!("{node}.pem")), directory.join(format!("{node}.key"))];
    for (at, node) in nodes.iter().enumerate() {
        if !is_name(node) || node == "authority" {
            return Err(format!("`{node}` is no name of a node: {NAME}, and not `authority`"));
        }
        if nodes[..at].contains(node) {
            return Err(format!("`{node}` is named twice"));
        }
        if let Some(file) = files(node).into_iter().find(|file| file.exists()) {
            return Err(of(&file, "it is there already, so no key was made"));
        }
    }
    let read = |path: &Path| std::fs::read_to_string(path).map_err(|why| of(path, why));
    let failed = |why: rcgen::Error| format!("no key: {why}");
    std::fs::create_dir_all(directory).map_err(|why| of(directory, why))?;
    let mut written = Vec::new();
    if !authority.exists() {
        let mut params = CertificateParams::new(Vec::new()).map_err(failed)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "Laxity test authority");
        let key = KeyPair::generate().map_err(failed)?;
        write_new(&authority, &params.self_signed(&key).map_err(failed)?.pem(), 0o644)?;
        write_new(&authority_key, &key.serialize_pem(), 0o600)?;
        written.extend([authority.clone(), authority_key.clone()]);
    }
    let key = match authority_key.exists() {
        true => read(&authority_key)?,
        false => {
            return Err(of(&authority_key, "it is not there, and signs the certificates of further nodes"));
        }
    };
    let key = KeyPair::from_pem(&key).map_err(|why| of(&authority_key, why))?;
    let issuer = Issuer::from_ca_cert_pem(&read(&authority)?, key).map_err(|why| of(&authority, why))?;
    for node in nodes {
        let mut params = CertificateParams::new(vec![node.clone()]).map_err(failed)?;
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, node.as_str());
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.signed_by(&key, &issuer).map_err(failed)?;
        let [path, key_path] = files(node);
        write_new(&path, &certificate.pem(), 0o644)?;
        write_new(&key_path, &key.serialize_pem(), 0o600)?;
        written.extend([path, key_path]);
    }
    Ok(written)
}

fn write_new(path: &Path, text: &str, mode: u32) -> Result<(), String> {
    let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|why| of(path, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An error names the file or the node, and precedes the first file.
    #[test]
    fn keys_that_cannot_be_made_say_why() {
        let beside = std::env::temp_dir().join(format!("laxity-keys-{}", std::process::id()));
        let make = |nodes: &[&str]| {
            let nodes: Vec<String> = nodes.iter().map(|node| (*node).to_owned()).collect();
            make_keys(&beside, &nodes)
        };
        for name in ["../x", "a b", "", "authority"] {
            assert!(make(&["one", name]).unwrap_err().contains("no name of a node"), "{name}");
        }
        assert!(make(&["one", "one"]).unwrap_err().contains("twice"));
        assert!(!beside.exists());
        assert_eq!(make(&["one"]).unwrap().len(), 4);
        assert!(make(&["two", "one"]).unwrap_err().contains("one.pem: it is there already"));
        assert!(!beside.join("two.pem").exists());
        let away = beside.join("away.key");
        std::fs::rename(beside.join("authority.key"), &away).unwrap();
        assert!(make(&["two"]).unwrap_err().contains("authority.key: it is not there, and signs"));
        std::fs::rename(away, beside.join("authority.key")).unwrap();
        assert_eq!(make(&["two"]).unwrap().len(), 2);
        std::fs::write(beside.join("authority.key"), "nothing").unwrap();
        assert!(make(&["three"]).unwrap_err().contains("authority.key: "));
        std::fs::remove_dir_all(&beside).unwrap();
    }
}
