package builtin

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/internal/projectdir"
	"example.org/parley/tool"
)

// project makes a project directory inside another directory, with links that lead out of it.
func project(t *testing.T) string {
	t.Helper()
	outside := t.TempDir()
	dir := filepath.Join(outside, "project")
	put := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(filepath.Join(outside, "secret.txt"), "outside")
	put(filepath.Join(dir, "readme.md"), "# One\ntwo\nthree\n")
	put(filepath.Join(dir, "src", "a.go"), "package a\n\n// FIND: find me\n")
	put(filepath.Join(dir, "src", "deep", "b.go"), "package b // find")
	put(filepath.Join(dir, ".git", "config"), "find in git")
	put(filepath.Join(dir, "image.png"), "\x89PNG\x00\xff\xfe find")
	put(filepath.Join(dir, "empty"), "")
	for link, target := range map[string]string{
		"out": "..", "out.txt": "../secret.txt", "absolute.txt": filepath.Join(outside, "secret.txt"),
		"inside.md": "readme.md",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func callTool(t *testing.T, dir, name, arguments string) (string, error) {
	t.Helper()
	one, ok := Tools().Tool(name)
	if !ok {
		t.Fatalf("there is no tool %s", name)
	}
	got, err := one.Call(t.Context(), tool.Call{ProjectPath: dir, Arguments: json.RawMessage(arguments)})
	if len(got.Pieces) > 0 {
		t.Fatalf("%s answers with %d pieces", name, len(got.Pieces))
	}
	return string(got.JSON), err
}

// TestReadFileShowsImages: an image is answered as a file, by what it begins with and not by
// its name, up to what a model is shown.
func TestReadFileShowsImages(t *testing.T) {
	t.Parallel()
	dir := project(t)
	webp := "RIFF\x24\x00\x00\x00WEBPVP8 "
	files := map[string]string{
		"a.png": "\x89PNG\r\n\x1a\n", "b.jpg": "\xff\xd8\xff\xe0", "c": "GIF89a\x01\x00\x00", "src/d.webp": webp,
	}
	for name, head := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(head+strings.Repeat("\x00", 600)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	one, _ := Tools().Tool("read_file")
	read := func(name string) (tool.Result, error) {
		return one.Call(t.Context(), tool.Call{ProjectPath: dir, Arguments: json.RawMessage(`{"path":"` + name + `"}`)})
	}
	for name, head := range files {
		got, err := read(name)
		if err != nil || len(got.Pieces) != 1 || got.JSON != nil {
			t.Fatalf("%s: %+v, %v", name, got, err)
		}
		piece := got.Pieces[0]
		if piece.Type != parley.PartFile || piece.Name != filepath.Base(name) || len(piece.Data) != len(head)+600 ||
			!strings.HasPrefix(string(piece.Data), head) {
			t.Errorf("%s is answered as %s %q of %d bytes", name, piece.Type, piece.Name, len(piece.Data))
		}
	}
	large := filepath.Join(dir, "large.png")
	if err := os.WriteFile(large, []byte(files["a.png"]), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, parley.MaxImageBytes+1); err != nil {
		t.Fatal(err)
	}
	if _, err := read("large.png"); parley.ErrorCode(err) != parley.CodeTooLarge {
		t.Errorf("a large image: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "gif.txt"), []byte("GIF89a is a format.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := read("gif.txt"); err != nil || !strings.Contains(string(got.JSON), "is a format") {
		t.Errorf("a text that begins like an image: %s, %v", got.JSON, err)
	}
}

func TestReadFile(t *testing.T) {
	dir := project(t)
	for arguments, want := range map[string]string{
		`{"path":"readme.md"}`: `{"path":"readme.md","text":"# One\ntwo\nthree\n",` +
			`"from_line":1,"lines":3,"next_line":null}`,
		`{"path":"inside.md"}`: `{"path":"inside.md","text":"# One\ntwo\nthree\n",` +
			`"from_line":1,"lines":3,"next_line":null}`,
		`{"path":"readme.md","from_line":2,` +
			`"lines":1}`: `{"path":"readme.md","text":"two\n","from_line":2,"lines":1,"next_line":3}`,
		`{"path":"readme.md","from_line":3,` +
			`"lines":1}`: `{"path":"readme.md","text":"three\n","from_line":3,"lines":1,"next_line":null}`,
		`{"path":"readme.md",` +
			`"from_line":9}`: `{"path":"readme.md","text":"","from_line":9,"lines":0,"next_line":null}`,
		`{"path":"src/deep/b.go",` +
			`"from_line":1}`: `{"path":"src/deep/b.go","text":"package b // find","from_line":1,"lines":1,` +
			`"next_line":null}`,
		`{"path":"empty"}`: `{"path":"empty","text":"","from_line":1,"lines":0,` +
			`"next_line":null}`,
	} {
		if got, err := callTool(t, dir, "read_file", arguments); err != nil || got != want {
			t.Errorf("%s: got %s, %v; want %s", arguments, got, err, want)
		}
	}
}

// TestNamesOfArgumentsAreExact: grants match arguments by their exact names, so the tools accept no others.
func TestNamesOfArgumentsAreExact(t *testing.T) {
	dir := project(t)
	for _, call := range [][2]string{
		{"read_file", `{"Path":"readme.md"}`},
		{"read_file", `{"path":"readme.md","PATH":"empty"}`},
		{"list_files", `{"Path":"src"}`},
		{"search_files", `{"pattern":"find","Path":"src"}`},
		{"write_file", `{"Path":"new","text":"x"}`},
		{"current_time", `{"TIMEZONE":"Europe/Berlin"}`},
	} {
		if got, err := callTool(t, dir, call[0], call[1]); parley.ErrorCode(err) != parley.CodeInvalid {
			t.Errorf("%s %s: got %s, %v; want %s", call[0], call[1], got, err, parley.CodeInvalid)
		}
	}
}

func TestReadFileInPieces(t *testing.T) {
	dir := t.TempDir()
	var whole strings.Builder
	for i := range 9000 {
		fmt.Fprintf(&whole, "%05d %s é\n", i, strings.Repeat("x", i%300))
	}
	if err := os.WriteFile(filepath.Join(dir, "big"), []byte(whole.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var read strings.Builder
	calls := 0
	for from := 1; from > 0; calls++ {
		got, err := callTool(t, dir, "read_file", fmt.Sprintf(`{"path":"big","from_line":%d,"lines":100000}`, from))
		if err != nil {
			t.Fatal(err)
		}
		var piece fileText
		if err := json.Unmarshal([]byte(got), &piece); err != nil {
			t.Fatal(err)
		}
		if len(piece.Text) > maxReadBytes || piece.Lines != strings.Count(piece.Text, "\n") {
			t.Fatalf("%d bytes, %d lines", len(piece.Text), piece.Lines)
		}
		read.WriteString(piece.Text)
		from = 0
		if piece.NextLine != nil {
			from = *piece.NextLine
		}
	}
	if read.String() != whole.String() || calls < 3 {
		t.Errorf("%d bytes of %d in %d calls", read.Len(), whole.Len(), calls)
	}
}

// TestNothingOutsideTheProject: no tool leaves the project by path, link or absolute name (symbolic links and ..
// escape).
func TestNothingOutsideTheProject(t *testing.T) {
	dir := project(t)
	for _, name := range []string{"../secret.txt", "src/../../secret.txt",
		filepath.Join(filepath.Dir(dir), "secret.txt"), "out.txt", "absolute.txt", "out/secret.txt"} {
		for tool, arguments := range map[string]string{
			"read_file": `{"path":%q}`, "write_file": `{"path":%q,"text":"taken"}`, "list_files": `{"path":%q}`,
			"search_files": `{"path":%q,"pattern":"o"}`,
		} {
			if got, err := callTool(
				t,
				dir,
				tool,
				fmt.Sprintf(arguments, name),
			); err == nil ||
				strings.Contains(err.Error(), filepath.Dir(dir)) && !strings.Contains(err.Error(), name) {
				t.Errorf("%s of %s: %s, %v", tool, name, got, err)
			}
		}
	}
	if got, err := callTool(t, dir, "list_files", `{"path":"out"}`); err == nil {
		t.Errorf("the directory above was listed: %s", got)
	}
	if secret, err := os.ReadFile(
		filepath.Join(filepath.Dir(dir), "secret.txt"),
	); err != nil ||
		string(secret) != "outside" {
		t.Errorf("the file outside holds %q, %v", secret, err)
	}
	if got, err := callTool(
		t,
		dir,
		"search_files",
		`{"pattern":"outside"}`,
	); err != nil ||
		got != `{"matches":[],"truncated":false}` {
		t.Errorf("a search followed a link: %s, %v", got, err)
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := project(t)
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool, arguments string
		code            parley.Code
		says            string
	}{
		{"read_file", `{"path":"missing"}`, parley.CodeNotFound, `"missing" does not exist`},
		{"read_file", `{"path":"src"}`, parley.CodeInvalid, "list_files"},
		{"read_file", `{"path":"pipe"}`, parley.CodeInvalid, "is not a regular file"},
		{"read_file", `{"path":"image.png"}`, parley.CodeUnsupported, "not a text file"},
		{"read_file", `{"path":"readme.md","lines":0}`, parley.CodeInvalid, "count from 1"},
		{"read_file", `{"file":"readme.md"}`, parley.CodeInvalid, "file"},
		{"write_file", `{"path":"src","text":"x"}`, parley.CodeInvalid, "is not a regular file"},
		{"write_file", `{"path":"pipe","text":"x"}`, parley.CodeInvalid, "is not a regular file"},
		{"write_file", `{"path":"x"}`, parley.CodeInvalid, "needs path and text"},
		{"list_files", `{"path":"readme.md"}`, parley.CodeInvalid, "is not a directory"},
		{"list_files", `{"pattern":"["}`, parley.CodeInvalid, "not a valid pattern"},
		{"search_files", `{"pattern":"("}`, parley.CodeInvalid, "RE2"},
	} {
		if got, err := callTool(
			t,
			dir,
			c.tool,
			c.arguments,
		); parley.ErrorCode(err) != c.code ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %s: %s, %v", c.tool, c.arguments, got, err)
		}
	}
	for _, tool := range []string{"read_file", "write_file", "list_files", "search_files"} {
		if _, err := callTool(t, "", tool, `{"path":"a","text":"b","pattern":"c"}`); err == nil {
			t.Errorf("%s without a project", tool)
		}
	}
	if _, err := callTool(
		t,
		"",
		"list_files",
		`{}`,
	); parley.ErrorCode(err) != parley.CodeConflict ||
		!strings.Contains(err.Error(), "choose a directory") {
		t.Errorf("without a project: %v", err)
	}
}

func TestWriteFile(t *testing.T) {
	dir := project(t)
	if err := os.Chmod(filepath.Join(dir, "readme.md"), 0o640); err != nil { //nolint:gosec // whether the mode stays
		t.Fatal(err)
	}
	for _, c := range []struct{ name, file, want string }{
		{"new/deep/file.txt", "new/deep/file.txt", `{"path":"new/deep/file.txt","bytes":6,"created":true}`},
		{"readme.md", "readme.md", `{"path":"readme.md","bytes":6,"created":false}`},
		{"inside.md", "readme.md", `{"path":"inside.md","bytes":6,"created":false}`},
	} {
		got, err := callTool(t, dir, "write_file", fmt.Sprintf(`{"path":%q,"text":"né\nw\n"}`, c.name))
		if err != nil || got != c.want {
			t.Errorf("%s: %s, %v", c.name, got, err)
		}
		if text, err := os.ReadFile(filepath.Join(dir, c.file)); err != nil || string(text) != "né\nw\n" {
			t.Errorf("%s holds %q, %v", c.file, text, err)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "readme.md")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if info, err := os.Lstat(filepath.Join(dir, "inside.md")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*.*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestListFiles(t *testing.T) {
	dir := project(t)
	for arguments, want := range map[string][]string{
		`{}`: {".git directory", "absolute.txt link", "empty file", "image.png file",
			"inside.md link", "out link", "out.txt link", "readme.md file", "src directory"},
		`{"path":"src"}`:                                   {"src/a.go file", "src/deep directory"},
		`{"recursive":true,"pattern":"*.go"}`:              {"src/a.go file", "src/deep/b.go file"},
		`{"recursive":true,"path":"src","pattern":"deep"}`: {"src/deep directory"},
		`{"recursive":true,"pattern":"config"}`:            nil,
	} {
		got, err := callTool(t, dir, "list_files", arguments)
		if err != nil {
			t.Fatal(err)
		}
		var found listing
		if err := json.Unmarshal([]byte(got), &found); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, entry := range found.Entries {
			names = append(names, entry.Path+" "+entry.Kind)
			if (entry.Kind == "file") != (entry.Size != nil) || entry.ModifiedAt == "" {
				t.Errorf("%+v", entry)
			}
		}
		if diff := cmp.Diff(want, names); diff != "" || found.Truncated {
			t.Errorf("%s: %s", arguments, diff)
		}
	}
}

func TestListsAndSearchesAreBounded(t *testing.T) {
	dir := t.TempDir()
	for i := range maxListed + 1 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d", i)), []byte("hit\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := callTool(t, dir, "list_files", `{}`)
	if err != nil || strings.Count(got, `"path"`) != maxListed || !strings.Contains(got, `"truncated":true`) {
		t.Errorf("%d entries, %v", strings.Count(got, `"path"`), err)
	}
	got, err = callTool(t, dir, "search_files", `{"pattern":"hit"}`)
	if err != nil || strings.Count(got, `"path"`) != maxMatches || !strings.Contains(got, `"truncated":true`) {
		t.Errorf("%d matches, %v", strings.Count(got, `"path"`), err)
	}
}

func TestSearchFiles(t *testing.T) {
	dir := project(t)
	for arguments, want := range map[string]string{
		`{"pattern":"(?i)find"}`: `{"matches":[{"path":"src/a.go","line":3,"text":"// FIND: find ` +
			`me"},{"path":"src/deep/b.go","line":1,"text":"package b // find"}],"truncated":false}`,
		`{"pattern":"(?i)find",` +
			`"files":"b.*"}`: `{"matches":[{"path":"src/deep/b.go","line":1,"text":"package b // find"}],` +
			`"truncated":false}`,
		`{"pattern":"package",` +
			`"path":"src/deep"}`: `{"matches":[{"path":"src/deep/b.go","line":1,"text":"package b // find"}],` +
			`"truncated":false}`,
		`{"pattern":"two$"}`: `{"matches":[{"path":"readme.md","line":2,"text":"two"}],` +
			`"truncated":false}`,
	} {
		if got, err := callTool(t, dir, "search_files", arguments); err != nil || got != want {
			t.Errorf("%s: got %s, %v", arguments, got, err)
		}
	}
}

// A rule about a path must see it: other spellings of the same file are refused, and the error names the right one.
func TestPathsHaveOneSpelling(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"./secret/a.txt", "drafts/../secret/a.txt", "secret//a.txt", "secret/./a.txt"} {
		if name, err := projectdir.Inside(text); err == nil {
			t.Errorf("%q is read as %q", text, name)
		}
	}
	for text, want := range map[string]string{"secret/a.txt": "secret/a.txt", "src/": "src", ".": ".", "": "."} {
		if name, err := projectdir.Inside(text); err != nil || name != want {
			t.Errorf("%q is %q, %v", text, name, err)
		}
	}
}
