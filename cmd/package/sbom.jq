# SPDX-License-Identifier: MIT
# sbom.jq: an SPDX 2.3 document of the lines in $linked (see cmd/linked.sh), with $release, $arch, $sha256
# (of the command) and $created.

def id: "SPDXRef-" + gsub("[^A-Za-z0-9.]+"; "-");
def parts: {sbinject: "sbinject", payloads: "inspect-sandbox-tools"};

def own(name; purpose; sums): {
  SPDXID: (name | id), name: name, versionInfo: $release, primaryPackagePurpose: purpose,
  supplier: "Organization: the sbinject authors", downloadLocation: "NOASSERTION", filesAnalyzed: false,
  licenseConcluded: "MIT", licenseDeclared: "MIT", copyrightText: "Copyright (c) 2026 the sbinject authors"
} + sums;

def library: {
  SPDXID: "\(.name) \(.version)" | id, name, versionInfo: .version, primaryPackagePurpose: "LIBRARY",
  supplier: "Organization: Debian", downloadLocation: "NOASSERTION", filesAnalyzed: false,
  licenseConcluded: .licence, licenseDeclared: .licence, copyrightText: "NOASSERTION",
  comment: "SHA-256 of what it was taken from, a source package's description or a file of it: \(.sha256)",
  externalRefs: [{referenceCategory: "PACKAGE-MANAGER", referenceType: "purl",
    referenceLocator: "pkg:deb/debian/\(.source)@\(.version | @uri)?arch=source"}]
};

def related(from; how; to): {spdxElementId: from, relationshipType: how, relatedSpdxElement: to};

[$linked / "\n" | .[] | select(. != "") / "\t" |
  {part: .[0], name: .[1], version: .[2], licence: .[3], sha256: .[4], source: .[5]}] as $all |
{
  spdxVersion: "SPDX-2.3", dataLicense: "CC0-1.0", SPDXID: "SPDXRef-DOCUMENT",
  name: "sbinject-\($release)-\($arch)",
  documentNamespace: "urn:sbinject:\($release):\($arch):sha256:\($sha256)",
  creationInfo: {created: $created, creators: ["Organization: the sbinject authors", "Tool: cmd/package/sbom.jq"]},
  hasExtractedLicensingInfos: [{licenseId: "LicenseRef-public-domain",
    extractedText: "The authors have put it into the public domain."}],
  packages: ([
    own("sbinject"; "APPLICATION"; {checksums: [{algorithm: "SHA256", checksumValue: $sha256}]}),
    own("inspect-sandbox-tools"; "APPLICATION"; {})
  ] + ($all | map(library) | unique_by(.SPDXID))),
  relationships: ([
    related("SPDXRef-DOCUMENT"; "DESCRIBES"; "SPDXRef-sbinject"),
    related("SPDXRef-sbinject"; "CONTAINS"; "SPDXRef-inspect-sandbox-tools")
  ] + ($all | map(related(parts[.part] | id; "STATIC_LINK"; "\(.name) \(.version)" | id))))
}
