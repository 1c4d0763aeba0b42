package server_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"waybill/server"
	"waybill/server/lab/rig"
)

// The guide's table holds every legacy route, and nothing but routes.
func TestMigrationGuideNamesTheRoutes(t *testing.T) {
	s, _ := rig.Demo(t, server.Config{})
	told := map[string]bool{"": true}
	for _, m := range rig.Migrations(t) {
		told[m.Old] = true
		told[m.New] = true
		if m.Before.Method != strings.Fields(m.Old)[0] || !strings.HasPrefix(m.Before.Path, "/rest/") ||
			!strings.HasPrefix(m.After.Path, "/v2/") {
			t.Errorf("%s: the examples are of other calls", m.Old)
		}
	}
	routes := s.Routes()
	for pattern := range told {
		if pattern != "" && routes[pattern] == nil {
			t.Errorf("%q is not a route", pattern)
		}
	}
	for pattern := range routes {
		if strings.Contains(pattern, " /rest/") && !told[pattern] {
			t.Errorf("the guide does not tell of %s", pattern)
		}
	}
}

// Every route is either a page or an operation of the document, and every operation is a route: a client that
// is generated from the document has no method that fetches a page.
func TestDocumentHasTheRoutes(t *testing.T) {
	s, _ := rig.Demo(t, server.Config{})
	routes := s.Routes()
	for pattern := range routes {
		_, path, hasMethod := strings.Cut(pattern, " ")
		if hasMethod && rig.IsPage(path) == (rig.Operations[pattern] != nil) {
			t.Errorf("%s: a page: %t, in the document: %t", pattern, rig.IsPage(path),
				rig.Operations[pattern] != nil)
		}
	}
	ids := map[any]string{}
	for pattern, op := range rig.Operations {
		if routes[pattern] == nil {
			t.Errorf("%s is no route", pattern)
		}
		if other := ids[op["operationId"]]; other != "" || op["operationId"] == nil {
			t.Errorf("%s and %s have the operationId %v", pattern, other, op["operationId"])
		}
		ids[op["operationId"]] = pattern
		named := regexp.MustCompile(`{(\w+)}`).FindAllStringSubmatch(pattern, -1)
		for _, p := range rig.Elements(op["parameters"]) {
			if p := rig.Resolve(p); p["in"] == "path" {
				named = slices.DeleteFunc(named, func(m []string) bool { return m[1] == p["name"] })
			}
		}
		if len(named) > 0 {
			t.Errorf("%s does not tell of %s", pattern, named)
		}
		// Who may call: the wrapper answers a stranger.
		if routes[pattern] == nil || strings.Contains(pattern, "/v2/auth/") ||
			strings.Contains(pattern, "/rest/") {
			continue
		}
		method, target, _ := strings.Cut(pattern, " ")
		secured := len(op["security"].([]any)) > 0
		w := rig.Ask(s, "", method, strings.NewReplacer("{", "", "}", "").Replace(target), "")
		if (w.Code == 401) != secured {
			t.Errorf("%s: a stranger gets %d", pattern, w.Code)
		}
	}
	info := rig.Object(rig.Specification, "info")
	if rig.Specification["openapi"] != "3.1.0" || info["version"] != "7.1.3" {
		t.Error(rig.Specification["openapi"], info)
	}
	if license, claimed := info["license"]; claimed {
		t.Errorf("the document claims the license %v; the owner has chosen none", license)
	}
	if !strings.Contains(info["description"].(string), "`/docs`") {
		t.Error("the document does not say where its pages are")
	}
}
