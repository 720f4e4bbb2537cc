package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/parley"
)

// TestStoredNamesArePlainHere: whoever uploaded a file cannot choose where it is saved on somebody else's machine, or
// hide it there.
func TestStoredNamesArePlainHere(t *testing.T) {
	t.Parallel()
	id := parley.NewID()
	for stored, want := range map[string]string{
		"report.pdf":             "report.pdf",
		"Übersicht 漢字.md":        "Übersicht 漢字.md",
		".bashrc":                "bashrc",
		"...profile":             "profile",
		"../../.ssh/config":      "config",
		`..\..\run.bat`:          "run.bat",
		"/etc/passwd":            "passwd",
		"a\x1b[2J\nb\u202ec":     "a_[2J_b_c",
		"c:stream":               "c_stream",
		"NUL":                    "_NUL",
		"con.txt":                "_con.txt",
		"Com1 .log":              "_Com1 .log",
		"console.log":            "console.log",
		"ends. .":                "ends",
		"":                       id.String(),
		"..":                     id.String(),
		"dir/":                   id.String(),
		"\xff":                   "_",
		strings.Repeat("é", 200): strings.Repeat("é", 127),
		"-rf":                    "_-rf",
	} {
		if got := plainName(stored, id); got != want {
			t.Errorf("%q becomes %q, want %q", stored, got, want)
		}
	}
}

// TestSavedFilesReplaceByForceAlone: without --force nothing is replaced, and with it a link's target stays.
func TestSavedFilesReplaceByForceAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	there, link := filepath.Join(dir, "there"), filepath.Join(dir, "link")
	if err := os.WriteFile(there, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(there, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{there, link} {
		if err := saveFile(path, strings.NewReader("theirs"), false); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := saveFile(link, strings.NewReader("theirs"), true); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{there: "mine", link: "theirs"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s has %q, %v", path, got, err)
		}
	}
	if err := saveFile(dir, strings.NewReader("theirs"), true); err == nil {
		t.Error("a directory was replaced")
	}
	d := newDesk(t)
	d.say("files", "add", there)
	d.expect(1, there+" exists: choose another name, or replace it with --force",
		"files", "get", "last", "--output", there)
}
