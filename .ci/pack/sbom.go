package main

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// sbom writes what the files of a directory are made of, as SPDX 2.3 has it: the program, the standard library
// that it is built with, and the modules of its tests, which stand in the source archive alone.
func sbom(x *request) error {
	modules, err := testModules()
	if err != nil {
		return err
	}
	files, err := x.files()
	if err != nil {
		return err
	}
	packages := []map[string]any{
		spdxPackage("waybill", "waybill", x.version, "NOASSERTION"),
		spdxPackage("stdlib", "Go standard library", strings.TrimPrefix(runtime.Version(), "go"), "BSD-3-Clause"),
	}
	relations := []map[string]any{
		relation("DOCUMENT", "DESCRIBES", "waybill"),
		relation("waybill", "DEPENDS_ON", "stdlib"),
	}
	for i, m := range modules {
		id := fmt.Sprintf("test-module-%d", i+1)
		packages = append(packages, spdxPackage(id, m.path, m.version, "NOASSERTION"))
		relations = append(relations, relation(id, "TEST_DEPENDENCY_OF", "waybill"))
	}
	for _, f := range files {
		id := strings.TrimPrefix(f["SPDXID"].(string), "SPDXRef-")
		relations = append(relations, relation("waybill", "GENERATES", id))
	}
	document := map[string]any{
		"spdxVersion":       "SPDX-2.3",
		"dataLicense":       "CC0-1.0",
		"SPDXID":            "SPDXRef-DOCUMENT",
		"name":              "waybill-" + x.version,
		"documentNamespace": "https://spdx.org/spdxdocs/waybill-" + x.version,
		"creationInfo": map[string]any{
			"created":  x.time.Format(time.RFC3339),
			"creators": []string{"Tool: waybill-ci-release"},
		},
		"packages":      packages,
		"files":         files,
		"relationships": relations,
	}
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(x.out, append(text, '\n'), 0o644)
}

func spdxPackage(id, name, version, licence string) map[string]any {
	return map[string]any{
		"SPDXID":           "SPDXRef-" + id,
		"name":             name,
		"versionInfo":      version,
		"downloadLocation": "NOASSERTION",
		"filesAnalyzed":    false,
		"licenseConcluded": "NOASSERTION",
		"licenseDeclared":  licence,
		"copyrightText":    "NOASSERTION",
	}
}

func relation(from, kind, to string) map[string]any {
	return map[string]any{
		"spdxElementId":      "SPDXRef-" + from,
		"relationshipType":   kind,
		"relatedSpdxElement": "SPDXRef-" + to,
	}
}

type module struct{ path, version string }

// testModules reads from vendor/modules.txt which modules the tests use.
func testModules() (list []module, err error) {
	text, err := os.ReadFile("vendor/modules.txt")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) == 3 && words[0] == "#" {
			list = append(list, module{words[1], words[2]})
		}
	}
	return list, nil
}

// files lists the files of the directory. SPDX asks for SHA-1 besides.
func (x *request) files() (list []map[string]any, err error) {
	err = filepath.WalkDir(x.operand, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(x.operand, file)
		if err != nil {
			return err
		}
		list = append(list, map[string]any{
			"SPDXID":   fmt.Sprintf("SPDXRef-file-%d", len(list)+1),
			"fileName": "./" + filepath.ToSlash(name),
			"checksums": []map[string]string{
				{"algorithm": "SHA1", "checksumValue": fmt.Sprintf("%x", sha1.Sum(content))},
				{"algorithm": "SHA256", "checksumValue": fmt.Sprintf("%x", sha256.Sum256(content))},
			},
			"licenseConcluded": "NOASSERTION",
			"copyrightText":    "NOASSERTION",
		})
		return nil
	})
	return list, err
}
