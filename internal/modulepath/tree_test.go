package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	root      = "../.."
	elsewhere = "example.net/some" + "/where/parley" // split, so that renaming back leaves this line alone
	treeTime  = 6 * time.Minute                      // for all commands of this test together
)

// One command gives a copy of the tree another path; all of its modules build under it, and it is used from outside as
// docs/library.md says. The test needs no network.
func TestTheTreeTakesAnotherPath(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the whole tree under another path")
	}
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), treeTime)
	defer cancel()
	dir := t.TempDir()
	tree, app := filepath.Join(dir, "parley"), filepath.Join(dir, "harbour")
	copyTree(t, tree)
	old, err := declared(filepath.Join(tree, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	before := sums(t, tree)
	r := runner{t: t, ctx: ctx}
	r.in(tree, "make", "module", "MODULE="+elsewhere)
	once := sums(t, tree)
	r.in(tree, "make", "module", "MODULE="+elsewhere)
	if again := sums(t, tree); again != once {
		t.Error("the second run changes something")
	}
	r.in(tree, "go", "list", "-test", "-deps", "./...") // a dangling import is an error, in tests too
	for _, module := range []string{"llm/difftest", "httpapi/gencheck", "deploy/check"} {
		r.in(filepath.Join(tree, module), "go", "list", "-test", "-deps", "./...")
	}
	if unsorted := r.in(tree, "gofmt", "-l", "."); unsorted != "" {
		t.Errorf("not gofmt'd: %s", unsorted)
	}
	r.in(tree, "go", "test", "-trimpath", "-vet=off", "-count=1", "./internal/gen/...")

	binary := filepath.Join(dir, "bin", "parley")
	r.in(tree, "go", "build", "-trimpath", "-o", binary, "./cmd/parley")
	if document := r.in(
		dir,
		binary,
		"openapi",
	); strings.Contains(document, elsewhere) ||
		!strings.Contains(document, "/v1/sessions") {
		t.Error("the API's description tells the module's path")
	}
	useFromOutside(r, app, binary)

	if strings.Contains(old, ".") { // otherwise Go could not fetch the old path
		r.in(tree, "make", "module", "MODULE="+old)
		if sums(t, tree) != before {
			t.Error("renaming back gives another tree")
		}
	}
}

// useFromOutside follows docs/library.md in a separate module beside the tree.
func useFromOutside(r runner, app, binary string) {
	page, err := os.ReadFile(filepath.Join(filepath.Dir(app), "parley", "docs", "library.md"))
	if err != nil {
		r.t.Fatal(err)
	}
	commands := blocks(page, "sh")
	programs := slices.DeleteFunc(blocks(page, "go"), func(block string) bool {
		return !strings.HasPrefix(block, "package ") // a part of one
	})
	if len(commands) != 2 || len(programs) != 2 {
		r.t.Fatalf("docs/library.md has %d blocks of commands and %d programs", len(commands), len(programs))
	}
	// Flags of the whole run stay, so that dependencies compile only once.
	r.env = []string{"GOFLAGS=" + os.Getenv("GOFLAGS") + " -mod=mod -trimpath -buildvcs=false", "PARLEY_KEY="}
	write := func(program string) {
		if err := os.WriteFile(filepath.Join(app, "main.go"), []byte(program), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	if err := os.Mkdir(app, 0o700); err != nil {
		r.t.Fatal(err)
	}
	r.in(app, "bash", "-e", "-c", commands[0])
	write(programs[0])
	if said := r.in(app, "bash", "-e", "-c", commands[1]); !strings.HasSuffix(said, "Good morning!\n") {
		r.t.Errorf("the engine in another module's program says %q", said)
	}
	url, stop := r.serve(binary)
	defer stop()
	r.env = append(r.env, "PARLEY_URL="+url)
	write(programs[1])
	if said := r.in(app, "bash", "-e", "-c", commands[1]); !strings.HasSuffix(said, "session.completed\n") {
		r.t.Errorf("the client in another module's program says %q", said)
	}
}

// blocks returns a page's code blocks in one language.
func blocks(page []byte, language string) []string {
	var found []string
	for _, block := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllSubmatch(page, -1) {
		found = append(found, string(block[1]))
	}
	return found
}

// runner runs commands that must succeed, without the network.
type runner struct {
	t   *testing.T
	ctx context.Context
	env []string
}

// in runs a command in a directory and returns its standard output.
func (r runner) in(dir string, name string, args ...string) string {
	r.t.Helper()
	command := exec.CommandContext(r.ctx, name, args...) //nolint:gosec // a command of this test
	command.Dir, command.Env = dir, append(
		os.Environ(),
		append(r.env, "GOPROXY=off", "GOSUMDB=off", "GOWORK=off", "CGO_ENABLED=0")...)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	if err := command.Run(); err != nil {
		r.t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out.Bytes(), errs.Bytes())
	}
	return out.String()
}

// serve starts a server, and returns its address and a function that ends it.
func (r runner) serve(binary string) (string, func()) {
	command := exec.CommandContext(
		r.ctx,
		binary,
		"serve",
		"--addr",
		"127.0.0.1:0",
		"--data",
		filepath.Join(r.t.TempDir(), "data"),
		"--drain-wait",
		"0s",
	)
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		r.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	_, url, found := strings.Cut(strings.TrimSpace(line), "Parley listens on ")
	if !found {
		r.t.Errorf("parley serve says %q (%v)", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // ends with the server
	return url, func() {
		if err := command.Process.Signal(os.Interrupt); err != nil {
			r.t.Error(err)
		}
		if err := command.Wait(); err != nil {
			r.t.Error(err)
		}
	}
}

// each visits the files of a tree that its build needs.
func each(t *testing.T, dir string, visit func(name string, text []byte, mode fs.FileMode) error) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", ".cache", "bin", "node_modules"}, entry.Name()):
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path) //nolint:gosec // of this tree
		if err != nil {
			return err
		}
		return visit(name, text, info.Mode().Perm())
	})
	if err != nil {
		t.Fatal(err)
	}
}

func copyTree(t *testing.T, to string) {
	t.Helper()
	each(t, root, func(name string, text []byte, mode fs.FileMode) error {
		path := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		return os.WriteFile(path, text, mode)
	})
}

// sums returns one hash of all files of a tree.
func sums(t *testing.T, dir string) [sha256.Size]byte {
	t.Helper()
	all := sha256.New()
	each(t, dir, func(name string, text []byte, mode fs.FileMode) error {
		sum := sha256.Sum256(text)
		_, err := io.WriteString(all, name+" "+mode.String()+" "+string(sum[:])+"\n")
		return err
	})
	return [sha256.Size]byte(all.Sum(nil))
}
