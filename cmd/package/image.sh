#!/bin/bash
# SPDX-License-Identifier: MIT
# image.sh ARCH: dist/sbinject-RELEASE-image-ARCH.tar, an OCI archive, which old "docker load" can read,
# too: the command, and nothing else, FROM scratch. No engine is needed.
# shellcheck source=cmd/package/lib.sh
. "$(dirname "$0")/lib.sh"

layout=$tmp/layout
blobs=$layout/blobs/sha256

# blob FILE: into the layout; prints its digest
blob() {
  local name
  name=$(digest "$1")
  mv "$1" "$blobs/$name"
  printf '%s\n' "$name"
}

# described TYPE DIGEST: what an OCI document says of a blob
described() {
  jq -n -c --arg type "application/vnd.oci.image.$1" --arg digest "$2" \
    --argjson size "$(stat -c %s "$blobs/$2")" '{mediaType: $type, digest: "sha256:\($digest)", size: $size}'
}

labels=$(jq -n -c --arg release "$RELEASE" --arg created "$created" '{
  "org.opencontainers.image.title": "sbinject", "org.opencontainers.image.version": $release,
  "org.opencontainers.image.created": $created, "org.opencontainers.image.licenses": "MIT",
  "org.opencontainers.image.description": "put a tool service into running containers"}')

mkdir -p "$blobs" "$tmp/root/usr/bin" "$tmp/root/usr/share/doc/sbinject" "$tmp/root/root"
staged "$1" "$tmp/all" /usr
cp "$tmp/all/usr/bin/sbinject" "$tmp/root/usr/bin/"
for f in LICENSE THIRD-PARTY sbom.spdx.json; do
  cp "$tmp/all/usr/share/doc/sbinject/$f" "$tmp/root/usr/share/doc/sbinject/"
done
chmod 700 "$tmp/root/root" # HOME: configuration, archives and the key are looked for there

packed "$tmp/root" >"$tmp/layer"
unpacked=$(digest "$tmp/layer")
gzip -n9 "$tmp/layer"
layer=$(blob "$tmp/layer.gz")
jq -n -c --arg arch "$1" --arg created "$created" --arg layer "$unpacked" --argjson labels "$labels" '{
  created: $created, architecture: $arch, os: "linux",
  config: {Entrypoint: ["/usr/bin/sbinject"], Cmd: ["--help"], WorkingDir: "/",
    Env: ["PATH=/usr/bin", "HOME=/root"], Labels: $labels},
  rootfs: {type: "layers", diff_ids: ["sha256:\($layer)"]},
  history: [{created: $created, created_by: "cmd/package/image.sh"}]}' >"$tmp/config"
config=$(blob "$tmp/config")
jq -n -c --argjson config "$(described config.v1+json "$config")" \
  --argjson layer "$(described layer.v1.tar+gzip "$layer")" --argjson labels "$labels" '{
  schemaVersion: 2, mediaType: "application/vnd.oci.image.manifest.v1+json", config: $config,
  layers: [$layer], annotations: $labels}' >"$tmp/manifest"
manifest=$(blob "$tmp/manifest")

# With "localhost/", the name is the same for all engines, and none looks for it elsewhere.
printf '{"imageLayoutVersion": "1.0.0"}' >"$layout/oci-layout"
jq -n -c --argjson manifest "$(described manifest.v1+json "$manifest")" --arg arch "$1" --arg release "$RELEASE" '{
  schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json",
  manifests: [$manifest + {platform: {architecture: $arch, os: "linux"}, annotations: {
    "io.containerd.image.name": "localhost/sbinject:\($release)",
    "org.opencontainers.image.ref.name": $release}}]}' >"$layout/index.json"
# as "docker save" writes it, for engines that know nothing else
jq -n -c --arg config "$config" --arg layer "$layer" --arg release "$RELEASE" '[{
  Config: "blobs/sha256/\($config)", Layers: ["blobs/sha256/\($layer)"],
  RepoTags: ["localhost/sbinject:\($release)"]}]' >"$layout/manifest.json"
packed "$layout" >"$tmp/sbinject-$RELEASE-image-$1.tar"
done_with "$tmp/sbinject-$RELEASE-image-$1.tar"
