package check

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
	"github.com/opencontainers/go-digest"
)

// offline replaces the registry: base images are not examined.
type offline struct{}

func (offline) ResolveImageConfig(
	_ context.Context,
	ref string,
	_ sourceresolver.Opt,
) (string, digest.Digest, []byte, error) {
	return ref, "", []byte(`{"config":{"Env":["PATH=/usr/local/bin:/usr/bin:/bin"]}}`), nil
}

// lint returns what `docker build --check` would say, without its network.
func lint(text string) []string {
	var says []string
	_, err := dockerfile2llb.Dockerfile2LLB(context.Background(), []byte(text), dockerfile2llb.ConvertOpt{
		MetaResolver: offline{},
		Warn: func(rule, _, _, message string, _ []parser.Range) {
			says = append(says, rule+": "+message)
		},
	})
	if err != nil {
		says = append(says, err.Error())
	}
	return says
}

func TestDockerfileLints(t *testing.T) {
	t.Parallel()
	text := read(t, "Dockerfile")
	for _, said := range lint(text) {
		t.Error(said)
	}
	for name, worse := range map[string]string{
		"an unknown flag":  strings.Replace(text, "--interval", "--intervall", 1),
		"a relative place": strings.Replace(text, "WORKDIR /src", "WORKDIR src", 1),
		"a secret":         strings.Replace(text, "EXPOSE 7878", "ENV API_KEY=x", 1),
	} {
		if len(lint(worse)) == 0 {
			t.Errorf("the linter accepts %s", name)
		}
	}
}

var (
	pinned  = regexp.MustCompile(`^[a-z0-9./-]+:[0-9]+\.[0-9]+[a-z0-9.-]*$`)
	nonRoot = regexp.MustCompile(`^[1-9][0-9]*:[1-9][0-9]*$`)
)

// TestDockerfileBuildsAsDocumented: pinned bases, a static binary, a user other than root, and a start and a health
// check that the binary knows.
func TestDockerfileBuildsAsDocumented(t *testing.T) {
	t.Parallel()
	text := read(t, "Dockerfile")
	parsed, err := parser.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	stages, _, err := instructions.Parse(parsed.AST, linter.New(&linter.Config{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, stage := range stages {
		if stage.BaseName != "scratch" && !pinned.MatchString(stage.BaseName) {
			t.Errorf("base image %s is not pinned to a version", stage.BaseName)
		}
	}
	if !strings.Contains(text, "make "+release+" PROGRAM=/out/parley") {
		t.Error("the binary is not built as a release")
	}
	user := ""
	var entry, start, health []string
	for _, command := range stages[len(stages)-1].Commands {
		switch c := command.(type) {
		case *instructions.UserCommand:
			user = c.User
		case *instructions.EntrypointCommand:
			entry = c.CmdLine
		case *instructions.CmdCommand:
			start = c.CmdLine
		case *instructions.HealthCheckCommand:
			health = c.Health.Test
		}
	}
	if !nonRoot.MatchString(user) {
		t.Errorf("the user is %q; it must be a number other than root's, so that clusters can check it", user)
	}
	if fmt.Sprint(entry) != "[/usr/local/bin/parley]" {
		t.Fatalf("the entry point is %v", entry)
	}
	checkCommand(t, "CMD", start)
	if len(health) < 3 || health[0] != "CMD" || health[1] != entry[0] {
		t.Fatalf("the health check is %v; there is no shell in the image", health)
	}
	checkCommand(t, "HEALTHCHECK", health[2:])
}

// TestBuildContextIsComplete: the ignore file excludes nothing that the build needs, and excludes files that would
// change layers needlessly.
func TestBuildContextIsComplete(t *testing.T) {
	t.Parallel()
	patterns, err := ignorefile.ReadAll(strings.NewReader(read(t, "Dockerfile.dockerignore")))
	if err != nil {
		t.Fatal(err)
	}
	ignored, err := patternmatcher.New(patterns)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range buildInputs(t) {
		if match, err := ignored.MatchesOrParentMatches(name); match || err != nil {
			t.Errorf("%s is left out of the build, which needs it (%v)", name, err)
		}
	}
	for _, name := range []string{".git/HEAD", ".cache/openapi.json", "bin/parley", "README.md", "docs/schema.sql",
		"bench/load.go", "deploy/compose.yaml", "e2e/main_test.go"} {
		if match, err := ignored.MatchesOrParentMatches(name); !match || err != nil {
			t.Errorf("%s is needlessly sent to the build (%v)", name, err)
		}
	}
}

// buildInputs returns the files of this repository that cmd/parley is built from.
func buildInputs(t *testing.T) []string {
	t.Helper()
	list := exec.Command("go", "list", "-deps", "-json=Dir,Module,GoFiles,EmbedFiles", "./cmd/parley")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	at, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	inputs := []string{"go.mod", "go.sum"}
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var p struct {
			Dir                 string
			Module              *struct{ Main bool }
			GoFiles, EmbedFiles []string
		}
		if err := decoder.Decode(&p); err != nil {
			t.Fatal(err)
		}
		if p.Module == nil || !p.Module.Main {
			continue
		}
		for _, name := range slices.Concat(p.GoFiles, p.EmbedFiles) {
			relative, err := filepath.Rel(at, filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			inputs = append(inputs, relative)
		}
	}
	if len(inputs) < 50 {
		t.Fatalf("go list names only %d files", len(inputs))
	}
	return inputs
}
