// Package manifests holds the manifests in build/deploy/ to the types of Kubernetes and the compose files to
// their schema: a field that is not theirs, or one of another type, is an error. It asks no server. It has its
// own module, so that what it needs is no part of wirelab.
package manifests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// where the manifests are.
const where = "../../build/deploy/hermes"

func TestManifests(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(where, "kubernetes", "*.yaml"))
	if err != nil || len(names) == 0 {
		t.Fatalf("there are no manifests: %v", err)
	}
	for _, name := range names {
		if err := manifests(name); err != nil {
			t.Error(err)
		}
	}
}

func TestCompose(t *testing.T) {
	if err := compose(filepath.Join(where, "compose.yaml")); err != nil {
		t.Error(err)
	}
}

// kind is a value of the deployment; nil: it is not known here.
func kind(apiVersion, name string) any {
	switch apiVersion + " " + name {
	case "apps/v1 StatefulSet":
		return new(apps.StatefulSet)
	case "v1 Service":
		return new(core.Service)
	case "policy/v1 PodDisruptionBudget":
		return new(policy.PodDisruptionBudget)
	}
	return nil
}

func manifests(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	for i, document := range bytes.Split(text, []byte("\n---\n")) {
		var head struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal(document, &head); err != nil {
			return fmt.Errorf("%s, document %d: %w", name, i, err)
		}
		into := kind(head.APIVersion, head.Kind)
		if into == nil {
			return fmt.Errorf("%s, document %d: %s %s is not known here: add it", name, i, head.APIVersion, head.Kind)
		}
		if err := yaml.UnmarshalStrict(document, into); err != nil {
			return fmt.Errorf("%s, document %d: %w", name, i, err)
		}
		if set, ok := into.(*apps.StatefulSet); ok {
			err = errors.Join(err, mounted(set))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// mounted holds that every mount has its volume, every probe its port, and the selector its labels.
func mounted(s *apps.StatefulSet) error {
	pod := s.Spec.Template
	volumes := map[string]bool{}
	for _, v := range pod.Spec.Volumes {
		volumes[v.Name] = true
	}
	for _, c := range s.Spec.VolumeClaimTemplates {
		volumes[c.Name] = true
	}
	for key, value := range s.Spec.Selector.MatchLabels {
		if pod.Labels[key] != value {
			return fmt.Errorf("the selector's %s is not the template's", key)
		}
	}
	for _, c := range pod.Spec.Containers {
		ports := map[string]bool{}
		for _, p := range c.Ports {
			ports[p.Name] = true
		}
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] {
				return fmt.Errorf("volume %s is mounted and not there", m.Name)
			}
		}
		for _, p := range []*core.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
			if p == nil || p.HTTPGet == nil || !ports[p.HTTPGet.Port.StrVal] {
				return fmt.Errorf("container %s lacks a probe, or the port of one", c.Name)
			}
		}
	}
	return nil
}

func TestComposePipeline(t *testing.T) {
	name := filepath.Join("../../build/deploy/pipeline", "compose.yaml")
	p, err := project(name, "pipeline")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Services {
		if s.HealthCheck == nil || len(s.Volumes) == 0 && s.Build == nil {
			t.Errorf("service %s lacks its health check or volume", s.Name)
		}
		for _, at := range s.Ports {
			if at.HostIP != "127.0.0.1" {
				t.Errorf("service %s gives port %s to other machines", s.Name, at.Published)
			}
		}
		if s.Build == nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(s.Build.Context, s.Build.Dockerfile)); err != nil {
			t.Error(err)
		}
	}
	if len(p.Services) != 3 {
		t.Errorf("%s has %d services, not 3", name, len(p.Services))
	}
}

func project(file, name string) (*types.Project, error) {
	o, err := cli.NewProjectOptions([]string{file}, cli.WithName(name))
	if err != nil {
		return nil, err
	}
	return o.LoadProject(context.Background())
}

func compose(name string) error {
	p, err := project(name, "hermes")
	if err != nil {
		return err
	}
	for _, s := range p.Services {
		if s.HealthCheck == nil || len(s.Environment) == 0 || len(s.Volumes) != 1 {
			return fmt.Errorf("%s: service %s lacks its health check, settings or volume", name, s.Name)
		}
		if _, err := os.Stat(filepath.Join(s.Build.Context, s.Build.Dockerfile)); err != nil {
			return err
		}
	}
	if len(p.Services) != 3 {
		return fmt.Errorf("%s has %d services, not 3", name, len(p.Services))
	}
	return nil
}
