package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.org/parley"
	"example.org/parley/client"
)

func filesCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{Use: "files", Short: "Upload, list, show, download and delete files"}
	command.AddCommand(
		&cobra.Command{
			Use:   "add PATH…",
			Short: "Upload files; parley chat --file uses them",
			Args:  cobra.MinimumNArgs(1),
			RunE: shared.asking(func(ctx context.Context, server *client.Client, paths []string) error {
				files, err := uploadFiles(ctx, server, term, paths)
				if err != nil {
					return err
				}
				return printPage(term, shared, &client.Page[parley.File]{Data: files}, filesTable())
			}),
		},
		filesListCommand(shared, term),
		filesShowCommand(shared, term),
		getFileCommand(shared, term),
		filesDeleteCommand(shared),
	)
	return command
}

func getFileCommand(shared *flags, term terminal) *cobra.Command {
	var (
		out   string
		force bool
	)
	command := &cobra.Command{Use: "get ID", Short: "Download a file", Args: cobra.ExactArgs(1)}
	command.Flags().
		StringVarP(&out, "output", "o", "",
			"file or directory to write to; standard output by default")
	command.Flags().BoolVar(&force, "force", false, "replace a file that exists")
	command.RunE = shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
		file, err := server.File(ctx, id)
		if err != nil {
			return err
		}
		content, err := server.FileContent(ctx, id)
		if err != nil {
			return err
		}
		defer content.Close() //nolint:errcheck // the body was read
		if out == "" {
			_, err = io.Copy(term.exact, content)
			return err
		}
		if info, err := os.Stat(out); err == nil && info.IsDir() {
			out = filepath.Join(out, plainName(file.Name, id))
		}
		err = saveFile(out, content, force)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s exists: choose another name, or replace it with --force", out)
		}
		return err
	})
	return command
}

// maxPlainName bounds the name of a downloaded file, in bytes; most systems allow no longer ones.
const maxPlainName = 255

// devices are the names of devices on Windows, with any extension.
var devices = regexp.MustCompile(`(?i)^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])$`)

// plainName returns the name under which a file is saved in a local directory. Somebody else may have chosen the stored
// name, so on no system does it lead to another directory, to a hidden file, or to one that listings leave out. If
// nothing usable remains, the id becomes the name.
func plainName(stored string, id parley.ID) string {
	name := stored[strings.LastIndexAny(stored, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || strings.ContainsRune(`<>:"|?*`, r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	name = strings.TrimRight(strings.TrimLeft(name, ". "), ". ")
	for len(name) > maxPlainName {
		_, size := utf8.DecodeLastRuneInString(name)
		name = strings.TrimRight(name[:len(name)-size], ". ")
	}
	if name == "" {
		return id.String()
	}
	if base, _, _ := strings.Cut(name, "."); devices.MatchString(strings.TrimRight(base, " ")) ||
		strings.HasPrefix(name, "-") { // programs would take it for an option
		return "_" + name
	}
	return name
}

// saveFile writes a new file; fs.ErrExist if there is one. With force it replaces an existing one; if that is a link,
// it replaces the link and not the file behind it.
func saveFile(path string, from io.Reader, force bool) (err error) {
	if info, err := os.Lstat(path); force && err == nil && !info.IsDir() {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if closed := to.Close(); err == nil {
		err = closed
	}
	return err
}

// uploadFiles uploads files of this machine, in order.
func uploadFiles(ctx context.Context, server *client.Client, term terminal, paths []string) ([]parley.File, error) {
	files := make([]parley.File, 0, len(paths))
	for _, path := range paths {
		file, err := uploadFile(ctx, server, term, path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		files = append(files, file)
	}
	return files, nil
}

// uploads is a repeatable flag of files on this machine, which are uploaded when the command runs.
type uploads struct {
	term  terminal
	paths []string
	ids   *[]parley.ID
}

var (
	_ pflag.Value = (*uploads)(nil)
	_ referring   = (*uploads)(nil)
)

// addUploads adds such a flag.
func addUploads(command *cobra.Command, term terminal, to *[]parley.ID, name string) {
	command.Flags().Var(&uploads{term: term, ids: to}, name, "upload this file and show it with TEXT; repeatable")
}

func (u *uploads) String() string { return strings.Join(u.paths, ",") }
func (u *uploads) Type() string   { return "path" }

func (u *uploads) Set(path string) error {
	u.paths = append(u.paths, path)
	return nil
}

func (u *uploads) find(ctx context.Context, server *client.Client) error {
	files, err := uploadFiles(ctx, server, u.term, u.paths)
	for i := range files {
		*u.ids = append(*u.ids, files[i].ID)
	}
	return err
}

func uploadFile(ctx context.Context, server *client.Client, term terminal, path string) (parley.File, error) {
	return uploadFileAs(ctx, server, term, path, filepath.Base(path))
}

func uploadFileAs(
	ctx context.Context,
	server *client.Client,
	term terminal,
	path, name string,
) (parley.File, error) {
	from, err := os.Open(path)
	if err != nil {
		return parley.File{}, err
	}
	defer from.Close() //nolint:errcheck // only read
	sent := term.counted(from, "uploading "+plainLine(filepath.Base(path)))
	file, err := server.UploadFile(ctx, sent, client.UploadFileQuery{Name: name})
	if sent != io.Reader(from) {
		steer(term.err, clearLine) // the server may not have read to the end
	}
	return file, err
}
