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

// Modes of files that only the server's user may access: others may neither read nor replace them.
const (
	privateDirectory fs.FileMode = 0o700
	privateFile      fs.FileMode = 0o600
)

// settingsFile is in the data directory.
const settingsFile = "parley.yaml"

// ownFiles makes the data directory, and checks that it, its settings and its token belong to the server's user alone.
// It narrows wider modes. It refuses links, and files of other users: their owners could replace them, or start
// programs in the server's name.
func ownFiles(dir string) error {
	if err := dataDirMade(dir); err != nil {
		return err
	}
	info, err := os.Stat(dir) // a link to it is fine: systemd makes one
	if err != nil {
		return parley.WrapError(parley.CodeInvalid, err, "the data directory "+dir+" cannot be read")
	}
	if !info.IsDir() || info.Mode()&fs.ModeSticky != 0 {
		return parley.Errorf(
			parley.CodeInvalid,
			"%s cannot be the data directory: it must be the server's own directory; choose another with --data "+
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
				"%s must be a regular file, not a link or anything else: put the file itself at this path",
				path,
			)
		}
		if err := narrow(path, info, privateFile); err != nil {
			return err
		}
	}
	return nil
}

// narrow removes other users' permissions from a file of this user.
func narrow(path string, info fs.FileInfo, mode fs.FileMode) error {
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Geteuid() {
		return parley.Errorf(
			parley.CodeInvalid,
			"%s belongs to user %d, but the server runs as user %d: give it to that user with chown, "+
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
		return parley.WrapError(
			parley.CodeInvalid,
			err,
			path+" is accessible to other users, and that cannot be changed",
		)
	}
	return nil
}

// replaceOldToken replaces, once, a token of earlier releases, whose file tools could read it. Tokens of this release
// begin differently.
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

// projects are the rules for where projects may be and what tools may touch in them.
func (s *settings) projects() (*projectdir.Policy, error) {
	options := projectdir.Options{Roots: s.ProjectRoots, Data: s.DataDir, Secrets: s.SecretFiles}
	for _, dir := range []string{s.Record, s.Replay} { // exchanges with providers
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
