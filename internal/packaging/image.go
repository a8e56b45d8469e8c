package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"
)

// blob is a part of an image, addressed by its digest.
type blob struct {
	text []byte
	kind string
}

func (b blob) digest() string { return "sha256:" + hexOf(b.text) }

func hexOf(text []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

func (b blob) descriptor() map[string]any {
	return map[string]any{"mediaType": b.kind, "digest": b.digest(), "size": len(b.text)}
}

// image writes a container image for both Linux architectures as an OCI layout: callgate, certificates, and no other
// program.
func image(r *release) error {
	const oci = "application/vnd.oci.image."
	var blobs []blob
	var manifests []any
	for _, b := range r.builds {
		if b.os != "linux" {
			continue
		}
		layer, plain, err := r.layer(b)
		if err != nil {
			return err
		}
		config, err := json.Marshal(map[string]any{
			"created": r.time.Format(time.RFC3339), "architecture": b.arch, "os": "linux",
			"config": map[string]any{
				"User": fmt.Sprintf("%d:%d", nobody, nobody), "Env": []string{"PATH=/", "HOME=/home", "CALLGATE_DATA_DIR=/data"}, "Entrypoint": []string{"/callgate"}, "Cmd": []string{"serve"},
				"Volumes": map[string]any{"/data": map[string]any{}}, "WorkingDir": "/home",
				"Labels": map[string]string{"org.opencontainers.image.source": "https://" + address, "org.opencontainers.image.version": r.version, "org.opencontainers.image.licenses": "Apache-2.0"},
			},
			"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + plain}},
			"history": []any{map[string]any{"created": r.time.Format(time.RFC3339), "created_by": "callgate release"}},
		})
		if err != nil {
			return err
		}
		about := blob{config, oci + "config.v1+json"}
		text, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": oci + "manifest.v1+json", "config": about.descriptor(), "layers": []any{layer.descriptor()}})
		if err != nil {
			return err
		}
		manifest := blob{text, oci + "manifest.v1+json"}
		d := manifest.descriptor()
		d["platform"] = map[string]string{"os": "linux", "architecture": b.arch}
		manifests = append(manifests, d)
		blobs = append(blobs, layer, about, manifest)
	}
	text, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": oci + "index.v1+json", "manifests": manifests})
	if err != nil {
		return err
	}
	list := blob{text, oci + "index.v1+json"}
	d := list.descriptor()
	d["annotations"] = map[string]string{"org.opencontainers.image.ref.name": r.version}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": oci + "index.v1+json", "manifests": []any{d}})
	if err != nil {
		return err
	}
	entries := []entry{{name: "oci-layout", text: []byte(`{"imageLayoutVersion":"1.0.0"}`), mode: 0o644}, {name: "index.json", text: index, mode: 0o644}}
	for _, b := range append(blobs, list) {
		entries = append(entries, entry{name: "blobs/sha256/" + hexOf(b.text), text: b.text, mode: 0o644})
	}
	return r.add("callgate-"+r.version+"-image.tar", func(w io.Writer) error { return writeTar(w, r.time, entries) })
}

// nobody is the user that callgate runs as in an image.
const nobody = 65532

// roots names the file of certificates that an image trusts. Without it the image trusts none, and reaches no server
// over HTTPS.
var roots = "/etc/ssl/certs/ca-certificates.crt"

// layer returns an image's only layer, and the digest of the layer before compression.
func (r *release) layer(b build) (packed blob, plain string, err error) {
	entries := []entry{
		{name: "callgate", path: b.path, mode: 0o755}, {name: "home/", mode: 0o700, user: nobody}, {name: "data/", mode: 0o700, user: nobody}, {name: "tmp/", mode: 0o1777},
		{name: "etc/", mode: 0o755}, {name: "etc/passwd", text: fmt.Appendf(nil, "callgate:x:%d:%d::/home:/callgate\n", nobody, nobody), mode: 0o644},
	}
	if _, err := os.Stat(roots); err == nil {
		entries = append(entries, entry{name: "etc/ssl/", mode: 0o755}, entry{name: "etc/ssl/certs/", mode: 0o755}, entry{name: "etc/ssl/certs/ca-certificates.crt", path: roots, mode: 0o644})
	}
	var whole, small bytes.Buffer
	if err := writeTar(&whole, r.time, entries); err != nil {
		return packed, "", err
	}
	if err := writeTarGz(&small, r.time, entries); err != nil {
		return packed, "", err
	}
	return blob{small.Bytes(), "application/vnd.oci.image.layer.v1.tar+gzip"}, hexOf(whole.Bytes()), nil
}
