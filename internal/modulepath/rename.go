package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// modulePath is the form of a path that Go can fetch: a host with a dot first.
var modulePath = regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)+(/[A-Za-z0-9_-]+([.~][A-Za-z0-9_-]+)*)*$`)

// rename gives the tree below root another module path and returns the names of changed files. It changes nothing if a
// file cannot be read or the path is invalid.
func rename(root, path string) ([]string, error) {
	if !modulePath.MatchString(path) {
		return nil, fmt.Errorf(
			"%q is not a valid module path: write a host with a dot and what follows, as in example.org/parley",
			path,
		)
	}
	old, err := declared(filepath.Join(root, "go.mod"))
	if err != nil || old == path {
		return nil, err
	}
	files, err := sources(root)
	if err != nil {
		return nil, err
	}
	r := newRewriter(old, path, files)
	texts := map[string][]byte{}
	for _, name := range files {
		before, err := os.ReadFile(filepath.Join(root, name)) //nolint:gosec // a file of this tree
		if err != nil {
			return nil, err
		}
		if after := r.file(name, before); !bytes.Equal(before, after) {
			texts[name] = after
		}
	}
	return write(root, texts)
}

// write replaces files, the root's go.mod last.
func write(root string, texts map[string][]byte) ([]string, error) {
	names := make([]string, 0, len(texts))
	for name := range texts {
		if name != "go.mod" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for i, name := range append(names, "go.mod") {
		path := filepath.Join(root, name)
		info, err := os.Stat(path)
		if err == nil {
			err = os.WriteFile(path, texts[name], info.Mode().Perm())
		}
		if err == nil && filepath.Base(name) == "go.mod" {
			err = tidy(path)
		}
		if err != nil {
			return names[:i], err
		}
	}
	return append(names, "go.mod"), nil
}

// tidy reorders the lines of a go.mod after a change of path.
func tidy(path string) error {
	command := exec.Command( //nolint:gosec,noctx // a fixed command that takes milliseconds
		"go",
		"mod",
		"edit",
		"-fmt",
		path,
	)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("go mod edit: %w: %s", err, out)
	}
	return nil
}

// declared returns the path in a go.mod.
func declared(path string) (string, error) {
	text, err := os.ReadFile(path) //nolint:gosec // a file of this tree
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "module "); ok {
			return strings.TrimSpace(name), nil
		}
	}
	return "", errors.New(path + " has no module line")
}

// skipped are directories of others' files, and of generated files.
var skipped = []string{".git", ".cache", "bin", "dist", "node_modules"} //nolint:gochecknoglobals // a constant

// sources returns the tree's text files, by their paths below root.
func sources(root string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(skipped, entry.Name()):
			return fs.SkipDir
		case !entry.Type().IsRegular() || entry.Name() == "go.sum":
			return nil
		}
		name, err := filepath.Rel(root, path)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	return names, err
}

// rewriter replaces one module path by another.
type rewriter struct {
	old, path string
	packages  map[string]bool // directories with Go files, by their paths below the root
}

func newRewriter(old, path string, files []string) *rewriter {
	r := &rewriter{old: old, path: path, packages: map[string]bool{}}
	for _, name := range files {
		if strings.HasSuffix(name, ".go") {
			r.packages[filepath.ToSlash(filepath.Dir(name))] = true
		}
	}
	return r
}

// file returns a file with the new path. Files that are not text stay unchanged.
func (r *rewriter) file(name string, text []byte) []byte {
	if bytes.IndexByte(text, 0) >= 0 {
		return text
	}
	means := r.dotted
	switch {
	case filepath.Base(name) == "go.mod":
		means = r.word
	case strings.Contains(r.old, "."):
	case strings.HasSuffix(name, ".go") || strings.HasSuffix(name, ".md"):
		means = r.quoted
	default:
		return text // there, a plain word in quotes may be any word
	}
	var renamed []byte
	for line := range strings.Lines(string(text)) {
		renamed = r.line(renamed, line, means)
	}
	if strings.HasSuffix(name, ".go") && !bytes.Equal(text, renamed) {
		if sorted, err := format.Source(renamed); err == nil { // keep imports in order under the new path
			return sorted
		}
	}
	return renamed
}

// line appends a line with the new path wherever the old one, judged by its context, means the module.
func (r *rewriter) line(to []byte, line string, means func(before, after string) bool) []byte {
	done := 0
	for {
		at := strings.Index(line[done:], r.old)
		if at < 0 {
			return append(to, line[done:]...)
		}
		at += done
		to = append(to, line[done:at]...)
		done = at + len(r.old)
		if means(line[:at], line[done:]) && !r.renamed(line[done:]) {
			to = append(to, r.path...)
		} else {
			to = append(to, r.old...)
		}
	}
}

// renamed reports whether text that begins with the old path is already the new one, after an interrupted run.
func (r *rewriter) renamed(after string) bool {
	rest, longer := strings.CutPrefix(r.path, r.old)
	return longer && strings.HasPrefix(after, rest)
}

// word matches a path in a go.mod: between spaces, or before a package.
func (r *rewriter) word(before, after string) bool {
	return (before == "" || strings.ContainsAny(before[len(before)-1:], " \t(")) &&
		(after == "" || strings.ContainsAny(after[:1], "/ \t\r\n)"))
}

// dotted matches a path with a dot elsewhere, neither at the end of an address nor at the beginning of a longer name. A
// full stop may end a sentence.
func (r *rewriter) dotted(before, after string) bool {
	if before != "" && (partOfPath(before[len(before)-1]) || before[len(before)-1] == '/') {
		return false
	}
	if rest, ok := strings.CutPrefix(after, "."); ok {
		after = rest
	}
	return after == "" || !partOfPath(after[0])
}

func partOfPath(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("._~-", c) >= 0
}

// imported matches the beginning and the end of a line that imports the root.
var (
	beforeImport = regexp.MustCompile(`^(?:\s*import (?:[\w.]+ )?|\s+(?:[\w.]+ )?)"$`)
	afterImport  = regexp.MustCompile(`^"\s*(?://.*)?\s*$`)
)

// versionAfter is what follows a module in a requirement.
var versionAfter = regexp.MustCompile(`^@(?:v\d|latest)`)

// quoted matches a path that is a plain word. It means the module only where it must: in quotes before a package of the
// tree, a version or a replacement, or as an import.
func (r *rewriter) quoted(before, after string) bool {
	if !strings.HasSuffix(before, `"`) || after == "" {
		return false
	}
	switch after[0] {
	case '/':
		dir, _, _ := strings.Cut(after[1:], `"`)
		return r.packages[dir]
	case '@':
		return versionAfter.MatchString(after)
	case '=':
		return true
	}
	return beforeImport.MatchString(before) && !strings.HasSuffix(before, `return "`) && afterImport.MatchString(after)
}
