package gencheck_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/oapi-codegen/runtime" // what oapi-codegen writes imports it
)

const (
	root     = "../.."
	document = "../openapi.json"

	startDeadline = 30 * time.Second
	runDeadline   = 2 * time.Minute
)

// run runs a command to its end and returns what it says.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), runDeadline)
	defer cancel()
	command := exec.CommandContext(ctx, name, args...)
	var said, complained strings.Builder
	command.Dir, command.Stdout, command.Stderr = dir, &said, &complained
	if err := command.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, said.String(), complained.String())
	}
	return said.String()
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// serve starts the real server on a database of its own, and returns its address.
func serve(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "parley")
	run(t, root, "go", "build", "-ldflags=-s -w", "-o", binary, "./cmd/parley")
	server := exec.Command(binary, "--data", filepath.Join(dir, "data"), "serve", "--addr", "127.0.0.1:0")
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "PARLEY_") && !strings.HasSuffix(name, "_API_KEY") {
			server.Env = append(server.Env, entry)
		}
	}
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait() // killed
	})
	first := make(chan string, 1)
	go func() { // ends with the process
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			select {
			case first <- lines.Text():
			default:
			}
		}
	}()
	select {
	case line := <-first:
		_, url, ok := strings.Cut(line, "listens on ")
		if !ok {
			t.Fatalf("the server said %q", line)
		}
		return url
	case <-time.After(startDeadline):
		t.Fatal("the server did not start")
	}
	return ""
}

// told is what both programs say at their end: the new session's status, how many turns it has, and the code of an
// error.
func told(t *testing.T, said, want string) {
	t.Helper()
	if strings.TrimSpace(said) != want {
		t.Errorf("the program said %q, want %q", said, want)
	}
}

func TestOapiCodegen(t *testing.T) {
	url, dir := serve(t), t.TempDir()
	generated := filepath.Join(dir, "api.go")
	run(t, ".", "go", "tool", "oapi-codegen", "-config", "testdata/oapi-codegen.yaml", "-o", generated, document)
	here, err := filepath.Abs("testdata/goclient/api.go")
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{here: generated}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "overlay.json"), overlay)
	program := filepath.Join(dir, "goclient")
	run(t, ".", "go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, "./testdata/goclient")
	told(t, run(t, ".", program, url), "pending 2 not_found")
	text, err := os.ReadFile(generated)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "OfAgent") {
		t.Error("the second paths of sessions were not left out")
	}
}

func TestOpenapiTypescript(t *testing.T) {
	packages, err := filepath.Abs(filepath.Join(root, ".cache/page-types/node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(packages); err != nil {
		t.Fatalf("run make test-vendors, which installs openapi-typescript: %v", err)
	}
	url, dir := serve(t), t.TempDir()
	program, err := os.ReadFile("testdata/tsclient/main.ts")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "main.ts"), program)
	write(t, filepath.Join(dir, "package.json"), []byte(`{"type":"module"}`))
	if err := os.Symlink(packages, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(packages, ".bin")
	run(t, ".", filepath.Join(bin, "openapi-typescript"), document, "--root-types", "--root-types-no-schema-prefix",
		"-o", filepath.Join(dir, "api.ts"))
	run(t, dir, filepath.Join(bin, "tsc"), "--strict", "--noUncheckedIndexedAccess", "--target", "es2022", "--module",
		"nodenext", "--skipLibCheck", "main.ts")
	told(t, run(t, dir, "node", "main.js", url), "pending 1 not_found")
}
