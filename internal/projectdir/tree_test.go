package projectdir

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"example.org/parley"
)

func opened(t *testing.T, p *Policy, directory string) *Tree {
	t.Helper()
	tree, err := p.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tree.Close() }) // written files are closed separately
	return tree
}

// A file of the server is recognised under any name in a project.
func TestTheServersFilesUnderOtherNames(t *testing.T) {
	t.Parallel()
	base := plot(t, "data", "site")
	for _, name := range []string{"data/token", "program"} {
		put(t, filepath.Join(base, name), "the server's")
	}
	for from, to := range map[string]string{"data/token": "site/notes.txt", "program": "site/tool"} {
		if err := os.Link(filepath.Join(base, from), filepath.Join(base, to)); err != nil {
			t.Fatal(err)
		}
	}
	p := policy(
		t,
		Options{
			Roots: []string{base},
			Data:  filepath.Join(base, "data"),
			Files: []string{filepath.Join(base, "program")},
		},
	)
	tree := opened(t, p, filepath.Join(base, "site"))
	for _, name := range []string{"notes.txt", "tool"} {
		if _, err := tree.Open(name); parley.ErrorCode(err) != parley.CodeForbidden {
			t.Errorf("%s was opened: %v", name, err)
		}
		if _, err := tree.Replace(name, []byte("taken")); parley.ErrorCode(err) != parley.CodeForbidden {
			t.Errorf("%s was written: %v", name, err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(base, "data/token")); err != nil || string(text) != "the server's" {
		t.Errorf("the token is %q, %v", text, err)
	}
}

// A database on another disk, behind a link, is recognised as the server's under any name, and so are files deep in its
// directories.
func TestTheServersFilesBehindLinksAndBelow(t *testing.T) {
	t.Parallel()
	base := plot(t, "data/deep/er", "records/provider", "disk", "disk/more", "site")
	for own, name := range map[string]string{
		"disk/store": "by-link", "data/deep/er/file": "deep", "records/provider/exchange": "exchange",
		"disk/more/file": "behind-a-link",
	} {
		put(t, filepath.Join(base, own), "the server's")
		if err := os.Link(filepath.Join(base, own), filepath.Join(base, "site", name)); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"data/parley.db": "../disk/store", "data/more": "../disk/more"} {
		if err := os.Symlink(target, filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(base, "site/first"), "the project's")
	if err := os.Link(filepath.Join(base, "site/first"), filepath.Join(base, "site/second")); err != nil {
		t.Fatal(err)
	}
	p := policy(
		t,
		Options{
			Roots:  []string{base},
			Data:   filepath.Join(base, "data"),
			Closed: []string{filepath.Join(base, "records")},
		},
	)
	tree := opened(t, p, filepath.Join(base, "site"))
	for _, name := range []string{"by-link", "deep", "exchange", "behind-a-link"} {
		if _, err := tree.Open(name); parley.ErrorCode(err) != parley.CodeForbidden {
			t.Errorf("%s was opened: %v", name, err)
		}
		if _, err := tree.Replace(name, []byte("taken")); parley.ErrorCode(err) != parley.CodeForbidden {
			t.Errorf("%s was written: %v", name, err)
		}
	}
	file, err := tree.Open("second")
	if err != nil {
		t.Fatalf("a file of the project with two names: %v", err)
	}
	_ = file.Close() // read only
}

// If the server has more files than are searched, a file that could be one of them is refused, and one with a single
// name is not.
func TestMoreOwnFilesThanAreLookedAt(t *testing.T) {
	t.Parallel()
	base := plot(t, "data", "site")
	for _, name := range []string{"data/a", "data/b", "data/c", "site/alone", "site/first"} {
		put(t, filepath.Join(base, name), "x")
	}
	if err := os.Link(filepath.Join(base, "site/first"), filepath.Join(base, "site/second")); err != nil {
		t.Fatal(err)
	}
	tree := opened(
		t,
		policy(t, Options{Roots: []string{base}, Data: filepath.Join(base, "data")}),
		filepath.Join(base, "site"),
	)
	tree.own.limit = 2
	if _, err := tree.Open(
		"second",
	); parley.ErrorCode(err) != parley.CodeForbidden ||
		!strings.Contains(err.Error(), "PARLEY_DATA") {
		t.Errorf("a file that may be the server's: %v", err)
	}
	file, err := tree.Open("alone")
	if err != nil {
		t.Fatalf("a file with one name: %v", err)
	}
	_ = file.Close() // read only
}

// Nothing is written where git would run it: in a .git in any spelling, or in a repository's directory under another
// name.
func TestNothingIsWrittenWhereGitRunsIt(t *testing.T) {
	t.Parallel()
	base := plot(t, ".git/hooks", "bare/objects", "bare/refs", "bare/hooks", "tree/meta", "work")
	put(t, filepath.Join(base, "bare/HEAD"), "ref: refs/heads/main\n")
	put(t, filepath.Join(base, "tree/meta/HEAD"), "ref: refs/heads/main\n")
	put(t, filepath.Join(base, "tree/meta/commondir"), "../..\n")
	put(t, filepath.Join(base, "tree/.git"), "gitdir: meta\n")
	for link, target := range map[string]string{"alias": ".git", "work/up": "../.git/hooks"} {
		if err := os.Symlink(target, filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	tree := opened(t, policy(t, Options{Roots: []string{base}}), base)
	for _, name := range []string{
		".git/hooks/pre-commit", ".GIT/hooks/pre-commit", ".g\u200dit/config", "alias/config", "work/up/post-commit",
		"tree/.git", "work/.git", "new/.git/hooks/x",
		"bare/config", "bare/hooks/post-receive", "tree/meta/hooks/pre-commit",
	} {
		if _, err := tree.Replace(name, []byte("x")); parley.ErrorCode(err) != parley.CodeForbidden {
			t.Errorf("%s was written: %v", name, err)
		}
	}
	if created, err := tree.Replace("work/deep/er/notes.txt", []byte("x")); err != nil || !created {
		t.Errorf("an ordinary file: %t, %v", created, err)
	}
	if _, err := os.Lstat(filepath.Join(base, "new")); err == nil {
		t.Error("a refused write has made a directory")
	}
}

// A link that changes while it is followed reveals nothing and allows no write: the opened file is checked, not the
// requested name.
func TestLinksThatChangeMeanwhile(t *testing.T) {
	t.Parallel()
	base := plot(t, "data", "site/open", "site/.ssh")
	put(t, filepath.Join(base, "site/open/key"), "open")
	put(t, filepath.Join(base, "site/.ssh/key"), "secret")
	p := policy(t, Options{Roots: []string{base}, Data: filepath.Join(base, "data")})
	tree := opened(t, p, filepath.Join(base, "site"))
	door := filepath.Join(base, "site/door")
	if err := os.Symlink("open", door); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() { // ends when the tries are over
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			default:
			}
			fresh := door + "-next"
			if err := os.Symlink([]string{"open", ".ssh"}[n%2], fresh); err != nil {
				t.Error(err)
				return
			}
			if err := os.Rename(fresh, door); err != nil {
				t.Error(err)
				return
			}
		}
	})
	let := 0
	for range 500 {
		file, err := tree.Open("door/key")
		if err == nil {
			text, err := io.ReadAll(file)
			_ = file.Close() // read only
			if err != nil || string(text) != "open" {
				t.Fatalf("read %q, %v", text, err)
			}
			let++
		}
		_, _ = tree.Replace("door/new", []byte("x")) // checked below
	}
	close(done)
	swapping.Wait()
	if entries, err := os.ReadDir(filepath.Join(base, "site/.ssh")); err != nil || len(entries) != 1 {
		t.Errorf("written: %v, %v", entries, err)
	}
	if let == 0 {
		t.Error("no access ever succeeded, so nothing was tested")
	}
}

// Without help from the kernel, an opened file is found again by its path.
func TestWhereWithoutTheKernel(t *testing.T) {
	t.Parallel()
	base := plot(t, "a")
	put(t, filepath.Join(base, "a/file"), "x")
	put(t, filepath.Join(base, "a/other"), "y")
	file, err := os.Open(filepath.Join(base, "a/file"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // read only
	if at, err := resolvedAgain(
		file,
		filepath.Join(base, "a/../a/file"),
	); err != nil ||
		at != filepath.Join(base, "a/file") {
		t.Errorf("%q, %v", at, err)
	}
	for _, name := range []string{"a/other", "a/none"} {
		if at, err := resolvedAgain(
			file,
			filepath.Join(base, name),
		); parley.ErrorCode(err) != parley.CodeConflict ||
			strings.Contains(err.Error(), base) {
			t.Errorf("%s: %q, %v", name, at, err)
		}
	}
}

// No write makes a repository, in whatever order its parts are written.
func TestNoWriteMakesARepository(t *testing.T) {
	t.Parallel()
	base := plot(t, "bare/objects", "spelled", "tree", "back", "linked", "objects", "plain", "deep/refs")
	for _, name := range []string{"bare/HEAD", "linked/HEAD", "plain/HEAD", "HEAD"} {
		put(t, filepath.Join(base, name), "ref: refs/heads/main\n")
	}
	if err := os.Symlink("../deep", filepath.Join(base, "linked/objects")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("linked", filepath.Join(base, "alias")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("bare/refs", filepath.Join(base, "dangling")); err != nil {
		t.Fatal(err)
	}
	tree := opened(t, policy(t, Options{Roots: []string{base}}), base)
	for _, step := range []struct {
		name string
		may  bool
	}{
		{"b2/config", true}, {"b2/objects/a", true}, {"b2/refs/a", true}, {"b2/HEAD", false}, {"b2/refs/b", true},
		{"b3/HEAD", true}, {"b3/objects/a", true}, {"b3/refs/a", false}, {"b3/refs", false}, {"b3/notes", true},
		{"bare/refs/heads/a", false}, {"bare/config", true}, {"dangling", false},
		{"spelled/Head", true}, {"spelled/OBJ\u200dECTS/a", true}, {"spelled/reFs/a", false},
		{"tree/config", true}, {"tree/HEAD", true}, {"tree/commondir", false}, {"tree/CommonDir", false},
		{"tree/gitdir", false}, {"tree/HEAD", true},
		{"back/gitdir", true}, {"back/HEAD", false}, {"linked/refs/a", false}, {"alias/refs/a", false},
		{"refs/heads/main", false}, {"commondir", false}, // in the project itself
		{"plain/objects/refs/HEAD", true}, {"deep/HEAD", true}, {"deep/deep/objects", true}, {"plain/HEAD", true},
	} {
		_, err := tree.Replace(step.name, []byte("x"))
		if step.may && err != nil || !step.may && parley.ErrorCode(err) != parley.CodeForbidden {
			t.Errorf("writing %s: %v", step.name, err)
		}
	}
	for _, name := range []string{"dangling/a", "dangling/heads/a"} {
		if _, err := tree.Replace(name, []byte("x")); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	for _, name := range []string{"b3/refs", "bare/refs", "spelled/reFs", "linked/refs", "refs"} {
		if _, err := os.Lstat(filepath.Join(base, name)); err == nil {
			t.Errorf("a refused write has made %s", name)
		}
	}
	for _, name := range []string{"b2/refs/a", "b3/HEAD", "bare/objects", "tree/HEAD"} {
		if _, err := os.Lstat(filepath.Join(base, name)); err != nil {
			t.Errorf("a refused write has removed %s", name)
		}
	}
}

// Two concurrent writes make no repository either.
func TestWritesAtOnceMakeNoRepository(t *testing.T) {
	t.Parallel()
	base := plot(t)
	p := policy(t, Options{Roots: []string{base}})
	for round := range 20 {
		in := "r" + strconv.Itoa(round)
		var writing sync.WaitGroup
		for _, name := range []string{"HEAD", "objects/a", "refs/a"} {
			tree := opened(t, p, base)
			writing.Go(func() { _, _ = tree.Replace(in+"/"+name, []byte("x")) }) // one of them is refused
		}
		writing.Wait()
		if inRepository(filepath.Join(base, in)) {
			t.Fatalf("round %d has made a repository", round)
		}
	}
}
