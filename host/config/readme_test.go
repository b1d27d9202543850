package config

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestReadme compares the tables of README.md with the settings: all names, and the defaults
// of settings outside lists and maps.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	prefix := ""
	code := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, " | ")
		switch {
		case strings.HasPrefix(line, "#"):
			prefix = ""
		case strings.HasPrefix(line, "| setting of a runner"):
			prefix = "agents.list[].runner."
		case strings.HasPrefix(line, "| `") && len(cells) >= 3:
			defaults := strings.Split(cells[len(cells)-2], ", ")
			for i, m := range code.FindAllStringSubmatch(cells[0], -1) {
				if _, twice := documented[prefix+m[1]]; twice {
					t.Errorf("README.md has %s twice", prefix+m[1])
				}
				documented[prefix+m[1]] = strings.Trim(defaults[min(i, len(defaults)-1)], "` ")
			}
		}
	}
	settings := map[string]string{}
	add(settings, "", reflect.ValueOf(*Default()))
	for path, want := range settings {
		got, ok := documented[path]
		switch {
		case !ok:
			t.Errorf("README.md does not have %s", path)
		case want != "" && got != want:
			t.Errorf("README.md: the default of %s is %s, want %s", path, got, want)
		}
	}
	for path := range documented {
		if _, ok := settings[path]; !ok {
			t.Errorf("README.md: there is no setting %s", path)
		}
	}
	_, err = Parse("parley.json5", []byte("{\n  tools: {\n    sessions: { visibility: \"tre\" },\n  },\n}"))
	if err == nil || !strings.Contains(string(text), "\n"+err.Error()+"\n") {
		t.Errorf("README.md does not have the problem %v", err)
	}
}

// add adds the paths of the settings in a struct, with their defaults. "" means that
// TestReadme does not compare the default.
func add(all map[string]string, path string, v reflect.Value) {
	var members func(path string, s shape)
	members = func(path string, s shape) {
		for _, m := range s {
			if m.inner != nil {
				members(path+m.name+".", m.inner)
				continue
			}
			addMember(all, path+m.name, v.Field(m.field))
		}
	}
	members(path, shapeOf(v.Type()))
}

func addMember(all map[string]string, path string, v reflect.Value) {
	of := v.Type()
	leaves := []string{"agents.defaults.runner", "agents.list[].runner.replies"}
	switch {
	case slices.Contains(leaves, path):
		all[path] = ""
	case of == reflect.TypeFor[PluginKeys]():
		all[path+".NAME"] = ""
	case of == reflect.TypeFor[Secret]():
		all[path] = ""
	case of.Kind() == reflect.Struct:
		add(all, path+".", v)
	case of.Kind() == reflect.Pointer && of.Elem().Kind() == reflect.Struct:
		if path == "agents.list[].runner" {
			all[path] = ""
		}
		add(all, path+".", reflect.New(of.Elem()).Elem())
	case of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Struct:
		if path == "session.sendPolicy.rules" {
			all[path] = ""
		}
		add(all, path+"[].", reflect.New(of.Elem()).Elem())
	case of.Kind() == reflect.Map && of.Elem().Kind() == reflect.Struct:
		add(all, path+".NAME.", reflect.New(of.Elem()).Elem())
	case v.IsZero() || strings.Contains(path, "[]") || strings.Contains(path, "NAME"):
		all[path] = ""
	default:
		all[path] = strings.TrimSuffix(fmt.Sprint(v.Interface()), "0m0s")
	}
}
