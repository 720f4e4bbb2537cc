package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"example.org/parley"
	"example.org/parley/internal/projectdir"
)

// Modes of files that only the server's user may access. Others may neither read them
// nor put something else in their place.
const (
	privateDirectory fs.FileMode = 0o700
	privateFile      fs.FileMode = 0o600
)

// settingsFile lies in the data directory.
const settingsFile = "parley.yaml"

// ownFiles makes the data directory, and checks that it, the settings and the token
// in it belong to the server's user alone. A wider mode is narrowed; what belongs to
// somebody else, or is a link, is refused: it could start programs in the server's
// name, or be exchanged by whoever owns it.
func ownFiles(dir string) error {
	if err := dataDirMade(dir); err != nil {
		return err
	}
	info, err := os.Stat(dir) // a link to it is as good: systemd makes one
	if err != nil {
		return parley.WrapError(parley.CodeInvalid, err, "the data directory "+dir+" cannot be read")
	}
	if !info.IsDir() || info.Mode()&fs.ModeSticky != 0 {
		return parley.Errorf(
			parley.CodeInvalid,
			"%s cannot be the data directory: it must be a directory of the server's own; give another with --data "+
				"or PARLEY_DATA",
			dir,
		)
	}
	if err := narrow(dir, info, privateDirectory); err != nil {
		return err
	}
	for _, name := range []string{settingsFile, tokenFile} {
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return parley.WrapError(parley.CodeInvalid, err, path+" cannot be read")
		case !info.Mode().IsRegular():
			return parley.Errorf(
				parley.CodeInvalid,
				"%s must be a regular file, not a link or anything else: put the file itself there",
				path,
			)
		}
		if err := narrow(path, info, privateFile); err != nil {
			return err
		}
	}
	return nil
}

// narrow takes away what others may do with a file of this user's.
func narrow(path string, info fs.FileInfo, mode fs.FileMode) error {
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Geteuid() {
		return parley.Errorf(
			parley.CodeInvalid,
			"%s belongs to another user (%d) than the one that runs the server (%d): give it to that one with chown, "+
				"or choose another data directory with --data or PARLEY_DATA",
			path,
			owner.Uid,
			os.Geteuid(),
		)
	}
	if info.Mode().Perm()&^mode == 0 {
		return nil
	}
	if err := os.Chmod(path, info.Mode().Perm()&mode); err != nil {
		return parley.WrapError(parley.CodeInvalid, err, path+" may be used by others, and that cannot be changed")
	}
	return nil
}

// replaceOldToken replaces a token of releases whose file tools could read it, once:
// tokens of this release begin otherwise.
func replaceOldToken(dir string) (replaced bool, err error) {
	raw, err := os.ReadFile(filepath.Join(dir, tokenFile)) //nolint:gosec // the user's own data directory
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, parley.WrapError(parley.CodeInvalid, err, filepath.Join(dir, tokenFile)+" cannot be read")
	}
	if strings.HasPrefix(strings.TrimSpace(string(raw)), tokenPrefix) {
		return false, nil
	}
	_, err = newToken(dir)
	return err == nil, err
}

// projects are the rules of where projects lie and what tools may touch in them.
func (s *settings) projects() (*projectdir.Policy, error) {
	options := projectdir.Options{Roots: s.ProjectRoots, Data: s.DataDir, Secrets: s.SecretFiles}
	for _, dir := range []string{s.Record, s.Replay} { // what others said to providers
		if dir == "" {
			continue
		}
		absolute, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		options.Closed = append(options.Closed, absolute)
	}
	if program, err := os.Executable(); err == nil {
		options.Files = append(options.Files, program)
	}
	return projectdir.New(options)
}
