package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// An image archive is an archive of blobs that name each other by their SHA-256 (image-spec 1.0 of OCI):
// index.json names a manifest, the manifest a config and one layer.

const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"

	user = 10001 // who runs the program in an image, and whose the volume is
)

// descriptor names a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// image writes an archive of one image: the binary and a directory for its data, for linux.
func image(x *request) error {
	binary, err := os.ReadFile(x.operand)
	if err != nil {
		return err
	}
	layer, err := x.layer(binary)
	if err != nil {
		return err
	}
	packed, err := compress(layer)
	if err != nil {
		return err
	}
	config := x.config(digest(layer))
	blobs := [][]byte{packed, config}
	manifest := encode(map[string]any{
		"schemaVersion": 2,
		"mediaType":     manifestType,
		"config":        describe(configType, config),
		"layers":        []descriptor{describe(layerType, packed)},
	})
	blobs = append(blobs, manifest)
	entry := describe(manifestType, manifest)
	entry.Platform = &platform{x.arch, "linux"}
	entry.Annotations = map[string]string{"org.opencontainers.image.ref.name": x.name}
	index := encode(map[string]any{
		"schemaVersion": 2,
		"manifests":     []descriptor{entry},
	})
	return create(x.out, func(w io.Writer) error {
		archive := tar.NewWriter(w)
		files := []struct {
			name    string
			content []byte
		}{
			{"oci-layout", encode(map[string]string{"imageLayoutVersion": "1.0.0"})},
			{"index.json", index},
		}
		for _, b := range blobs {
			files = append(files, struct {
				name    string
				content []byte
			}{fmt.Sprintf("blobs/sha256/%x", sha256.Sum256(b)), b})
		}
		for _, f := range files {
			if err := x.add(archive, x.header(f.name, 0o644), f.content); err != nil {
				return err
			}
		}
		return archive.Close()
	})
}

// layer returns the files of the image: the program, and the one directory that can be written.
func (x *request) layer(binary []byte) ([]byte, error) {
	var b bytes.Buffer
	archive := tar.NewWriter(&b)
	data := x.header("data/", 0o700)
	data.Typeflag = tar.TypeDir
	data.Uid = user
	data.Gid = user
	if err := archive.WriteHeader(data); err != nil {
		return nil, err
	}
	if err := x.add(archive, x.header("waybill", 0o755), binary); err != nil {
		return nil, err
	}
	err := archive.Close()
	return b.Bytes(), err
}

// add adds a file.
func (x *request) add(archive *tar.Writer, header *tar.Header, content []byte) error {
	header.Size = int64(len(content))
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err := archive.Write(content)
	return err
}

// config returns what an engine has to know to run the image. Certificates are not in it: a machine mounts
// its own at /etc/ssl/certs.
func (x *request) config(layer string) []byte {
	return encode(map[string]any{
		"created":      x.time,
		"architecture": x.arch,
		"os":           "linux",
		"config": map[string]any{
			"User":         fmt.Sprintf("%d:%d", user, user),
			"Env":          []string{"WAYBILL_DATA=/data", "WAYBILL_ADDR=0.0.0.0:8080"},
			"Entrypoint":   []string{"/waybill"},
			"Cmd":          []string{"serve"},
			"Volumes":      map[string]any{"/data": map[string]any{}},
			"ExposedPorts": map[string]any{"8080/tcp": map[string]any{}},
			"StopSignal":   "SIGTERM",
		},
		"rootfs": map[string]any{
			"type":     "layers",
			"diff_ids": []string{layer},
		},
		"history": []any{map[string]any{
			"created":    x.time,
			"created_by": "waybill .ci/release",
		}},
	})
}

// compress returns content as gzip has it.
func compress(content []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	err := w.Close()
	return b.Bytes(), err
}

// encode returns JSON: the members of objects are in order.
func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // of texts and numbers of our own
	}
	return text
}

func digest(blob []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(blob)) }

func describe(kind string, blob []byte) descriptor {
	return descriptor{
		MediaType: kind,
		Digest:    digest(blob),
		Size:      len(blob),
	}
}
