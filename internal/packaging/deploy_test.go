package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"callgate/internal/config"
)

const deploy = "../../deploy"

// chartFuncs stands in for the Helm functions that the chart uses.
var chartFuncs = template.FuncMap{
	"quote": func(v any) string { return strconv.Quote(fmt.Sprint(v)) },
	"int":   func(v any) int { n, _ := strconv.Atoi(fmt.Sprint(v)); return n },
	"until": func(n int) []int {
		list := make([]int, n)
		for i := range list {
			list[i] = i
		}
		return list
	},
	"indent": func(n int, text string) string {
		pad := strings.Repeat(" ", n)
		return pad + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+pad)
	},
}

// render renders the chart with its default values, overridden by more.
func render(t *testing.T, more map[string]any) string {
	t.Helper()
	values := map[string]any{}
	if err := yaml.Unmarshal(readFile(t, deploy+"/helm/callgate/values.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	for name, value := range more {
		if _, known := values[name]; !known {
			t.Fatalf("values.yaml has no %s", name)
		}
		values[name] = value
	}
	var out bytes.Buffer
	for _, name := range []string{"config.yaml", "replicas.yaml"} {
		one, err := template.New(name).Option("missingkey=error").Funcs(chartFuncs).Parse(string(readFile(t, deploy+"/helm/callgate/templates/"+name)))
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("---\n")
		if err := one.Execute(&out, map[string]any{"Values": values, "Release": map[string]any{"Name": "callgate"}}); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// objects decodes the rendered objects.
func objects(t *testing.T, text string) (list []map[string]any) {
	t.Helper()
	in := yaml.NewDecoder(strings.NewReader(text))
	for {
		var one map[string]any
		err := in.Decode(&one)
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if len(one) > 0 {
			list = append(list, one)
		}
	}
}

// at walks into an object by keys and indices.
func at(v any, path ...any) any {
	for _, step := range path {
		switch k := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[k]
		case int:
			l, _ := v.([]any)
			if k >= len(l) {
				return nil
			}
			v = l[k]
		}
	}
	return v
}

// loads loads a configuration as callgate does.
func loads(t *testing.T, text string) *config.Config {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "callgate.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := config.NewSettings(pflag.NewFlagSet("common", pflag.ContinueOnError))
	if err := s.Common.Parse([]string{"--config", file, "--data-dir", dir}); err != nil {
		t.Fatal(err)
	}
	c, err := s.Load()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return c
}

// TestChart renders the chart, loads its configuration, and checks the manifests against it. The environment variable
// CALLGATE_UPDATE=1 rewrites them.
func TestChart(t *testing.T) {
	t.Setenv("CALLGATE_CLUSTER_NAME", "callgate-1")
	for name, more := range map[string]map[string]any{"three": nil, "one": {"replicas": 1}, "a NATS of yours": {"nats": "tls://nats.example.com:4222"}} {
		t.Run(name, func(t *testing.T) {
			all := objects(t, render(t, more))
			kinds := map[string]map[string]any{}
			for _, o := range all {
				kinds[fmt.Sprint(o["kind"])+"/"+fmt.Sprint(at(o, "metadata", "name"))] = o
				if o["apiVersion"] == nil || at(o, "metadata", "name") == nil {
					t.Errorf("an object without version or name: %v", o)
				}
			}
			set := kinds["StatefulSet/callgate"]
			labels := at(set, "spec", "template", "metadata", "labels")
			for _, selector := range []any{
				at(set, "spec", "selector", "matchLabels"), at(kinds["Service/callgate"], "spec", "selector"), at(kinds["Service/callgate-replicas"], "spec", "selector"),
				at(kinds["PodDisruptionBudget/callgate"], "spec", "selector", "matchLabels"),
			} {
				if fmt.Sprint(selector) != fmt.Sprint(labels) {
					t.Errorf("a selector %v does not find %v", selector, labels)
				}
			}
			if kinds["Service/"+fmt.Sprint(at(set, "spec", "serviceName"))] == nil {
				t.Error("the service of the set is not there")
			}
			var volumes, mounted []string
			for i := 0; at(set, "spec", "template", "spec", "volumes", i) != nil; i++ {
				volumes = append(volumes, fmt.Sprint(at(set, "spec", "template", "spec", "volumes", i, "name")))
			}
			volumes = append(volumes, fmt.Sprint(at(set, "spec", "volumeClaimTemplates", 0, "metadata", "name")))
			container := at(set, "spec", "template", "spec", "containers", 0)
			for i := 0; at(container, "volumeMounts", i) != nil; i++ {
				mounted = append(mounted, fmt.Sprint(at(container, "volumeMounts", i, "name")))
			}
			slices.Sort(volumes)
			slices.Sort(mounted)
			if !slices.Equal(volumes, mounted) {
				t.Errorf("volumes %v, mounted %v", volumes, mounted)
			}
			c := loads(t, fmt.Sprint(at(kinds["ConfigMap/callgate"], "data", "callgate.yaml")))
			want := 3
			if name != "three" {
				want = 0
			}
			if !c.Cluster.On() || len(c.Cluster.Peers) != want {
				t.Errorf("the configuration has %d peers: %+v", len(c.Cluster.Peers), c.Cluster)
			}
		})
	}
	manifests := deploy + "/kubernetes/callgate.yaml"
	text := "# Made from deploy/helm by CALLGATE_UPDATE=1 go test ./internal/packaging -run TestChart.\n" + render(t, nil)
	if os.Getenv("CALLGATE_UPDATE") != "" {
		if err := os.WriteFile(manifests, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if string(readFile(t, manifests)) != text {
		t.Errorf("%s is not what the chart says: run CALLGATE_UPDATE=1 go test ./internal/packaging -run TestChart", manifests)
	}
}

// TestCompose loads the compose file's configuration as its replicas do.
func TestCompose(t *testing.T) {
	var file struct {
		Services map[string]struct {
			Hostname    string
			Environment map[string]string
			Configs     []struct{ Source string }
			Secrets     []string
			Volumes     []string
		}
		Configs map[string]struct{ Content string }
		Secrets map[string]any
		Volumes map[string]any
	}
	if err := yaml.Unmarshal(readFile(t, deploy+"/compose.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	replicas := 0
	for name, s := range file.Services {
		for _, c := range s.Configs {
			if file.Configs[c.Source].Content == "" {
				t.Errorf("%s: there is no configuration %s", name, c.Source)
			}
		}
		for _, secret := range s.Secrets {
			if _, ok := file.Secrets[secret]; !ok {
				t.Errorf("%s: there is no secret %s", name, secret)
			}
		}
		for _, v := range s.Volumes {
			if _, ok := file.Volumes[strings.Split(v, ":")[0]]; !ok {
				t.Errorf("%s: there is no volume %s", name, v)
			}
		}
		if s.Hostname == "" {
			continue
		}
		replicas++
		t.Run(name, func(t *testing.T) {
			for key, value := range s.Environment {
				t.Setenv(key, value)
			}
			t.Setenv("CALLGATE_CLUSTER_NAME", s.Hostname)
			if c := loads(t, file.Configs["callgate"].Content); len(c.Cluster.Peers) != 3 || c.Cluster.Name != name {
				t.Errorf("%+v", c.Cluster)
			}
		})
	}
	if replicas != 3 {
		t.Errorf("%d replicas", replicas)
	}
}

// TestSystemService loads the system service's configuration as the service does.
func TestSystemService(t *testing.T) {
	unit := deploy + "/systemd/callgate.service"
	secrets := t.TempDir()
	set := 0
	for line := range strings.Lines(string(readFile(t, unit))) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "LoadCredential":
			name, _, _ := strings.Cut(value, ":")
			if err := os.WriteFile(filepath.Join(secrets, name), []byte("a secret of the cluster's replicas, long enough"), 0o400); err != nil {
				t.Fatal(err)
			}
		case "Environment":
			name, value, _ := strings.Cut(value, "=")
			if !strings.HasPrefix(name, "CALLGATE_") {
				t.Errorf("%s is none of callgate's variables", name)
			}
			if path, ok := strings.CutPrefix(value, "%d/"); ok {
				value = filepath.Join(secrets, path)
				if _, err := os.Stat(value); err != nil {
					t.Errorf("%s: the service loads no such secret: %v", name, err)
				}
			}
			t.Setenv(name, strings.ReplaceAll(value, "%H", "gate-1"))
			set++
		}
	}
	c := loads(t, "cluster: {peers: [\"gate-0:7779\", \"gate-1:7779\", \"gate-2:7779\"]}\n")
	if set == 0 || !c.Cluster.On() || len(c.Cluster.Peers) != 3 || c.Cluster.Name != "gate-1" || filepath.Dir(c.Cluster.Key) != secrets {
		t.Errorf("%+v", c.Cluster)
	}
	verifyUnit(t, unit, "--system")
}
