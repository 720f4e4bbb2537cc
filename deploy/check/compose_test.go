package check

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// compose loads compose.yaml as the compose command would, including schema and references.
func compose(environment types.Mapping) (*types.Project, error) {
	file := filepath.Join(folder, "compose.yaml")
	environment = maps.Clone(environment) // the loader adds to it
	return loader.LoadWithContext(
		context.Background(),
		types.ConfigDetails{
			WorkingDir:  folder,
			ConfigFiles: []types.ConfigFile{{Filename: file}},
			Environment: environment,
		},
		func(o *loader.Options) { o.SetProjectName("parley", true) },
	)
}

var givenPasswords = types.Mapping{"POSTGRES_PASSWORD": "one", "PARLEY_DB_PASSWORD": "two"}

func TestComposeAsksForPasswords(t *testing.T) {
	t.Parallel()
	for name := range givenPasswords {
		others := types.Mapping{}
		for other, value := range givenPasswords {
			if other != name {
				others[other] = value
			}
		}
		if _, err := compose(others); err == nil || !strings.Contains(err.Error(), "set "+name) {
			t.Errorf("without %s: %v", name, err)
		}
		if !strings.Contains(read(t, "compose.env"), "\n"+name+"=\n") {
			t.Errorf("compose.env has no empty %s", name)
		}
	}
}

func TestComposeLoads(t *testing.T) {
	t.Parallel()
	project, err := compose(givenPasswords)
	if err != nil {
		t.Fatal(err)
	}
	processes := 0
	for name, service := range project.Services {
		if !pinned.MatchString(service.Image) {
			t.Errorf("%s: image %s is not pinned to a version", name, service.Image)
		}
		for _, volume := range service.Volumes {
			if volume.Type != types.VolumeTypeBind {
				continue
			}
			if info, err := os.Stat(volume.Source); err != nil || info.IsDir() {
				t.Errorf("%s mounts %s: %v", name, volume.Source, err)
			}
		}
		if name == "postgres" {
			continue
		}
		if !service.ReadOnly || !slices.Contains(service.CapDrop, "ALL") ||
			!slices.Contains(service.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s could write its image, keep capabilities or gain privileges", name)
		}
		if service.Build == nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(service.Build.Context, service.Build.Dockerfile)); err != nil {
			t.Errorf("%s is built of %v", name, err)
		}
		if len(service.Command) > 0 {
			checkCommand(t, name, service.Command)
		}
		if len(service.Command) == 0 { // a server
			processes++
			if want := slowestStop(t, defaultDrainWait); time.Duration(*service.StopGracePeriod) <= want {
				t.Errorf("%s is killed after %s; a drain may take %s", name, service.StopGracePeriod, want)
			}
			for _, other := range []string{name + ":7878", "server " + name + " "} {
				if !strings.Contains(read(t, "haproxy.cfg"), other) {
					t.Errorf("haproxy.cfg does not say %q", other)
				}
			}
			if !strings.Contains(read(t, "nginx.conf"), "server "+name+":7878 ") {
				t.Errorf("nginx.conf does not name %s", name)
			}
		}
	}
	if processes != 3 {
		t.Errorf("%d processes of Parley, want 3", processes)
	}
	migrate := project.Services["parley-1"].DependsOn["migrate"].Condition
	if migrate != types.ServiceConditionCompletedSuccessfully {
		t.Errorf("the processes start before the schema exists: %q", migrate)
	}
}
