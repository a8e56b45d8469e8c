// Package deploy checks the manifests of deploy/ against the types of the Kubernetes API.
package deploy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// decode decodes manifests like a strict API server: it refuses unknown fields, duplicate fields, and values of another
// type. It returns the kinds.
func decode(manifests io.Reader) (kinds []string, err error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{apps.AddToScheme, core.AddToScheme, policy.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	strict := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	for in := yaml.NewYAMLReader(bufio.NewReader(manifests)); ; {
		text, err := in.Read()
		if errors.Is(err, io.EOF) {
			return kinds, nil
		}
		if err != nil {
			return nil, err
		}
		_, kind, err := strict.Decode(text, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("%w\n%s", err, text)
		}
		kinds = append(kinds, kind.Kind)
	}
}

func TestManifests(t *testing.T) {
	file, err := os.ReadFile("../../../deploy/kubernetes/callgate.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(file), "---\n") // the comment
	kinds, err := decode(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"ConfigMap", "Service", "Service", "PodDisruptionBudget", "StatefulSet"}; !slices.Equal(kinds, want) {
		t.Errorf("%v, want %v", kinds, want)
	}
	for from, to := range map[string]string{
		"readinessProbe:": "readynessProbe:", "replicas: 3": "replicas: three", "failureThreshold: 2": "failureThreshold: 2\n            failureThreshold: 3",
		"apps/v1": "apps/v1beta1", "serviceName:": "servicename:",
	} {
		changed := strings.Replace(text, from, to, 1)
		if changed == text {
			t.Fatalf("there is no %s", from)
		}
		if _, err := decode(strings.NewReader(changed)); err == nil {
			t.Errorf("taken: %s", to)
		}
	}
}
