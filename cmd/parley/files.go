package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

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
				files, err := uploadFiles(ctx, server, paths)
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
	var out string
	command := &cobra.Command{Use: "get ID", Short: "Download a file", Args: cobra.ExactArgs(1)}
	command.Flags().
		StringVarP(&out, "output", "o", "",
			"file or directory to write to; standard output by default")
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
			out = filepath.Join(out, filepath.Base(file.Name))
		}
		return saveFile(out, content)
	})
	return command
}

// saveFile writes a new file. It does not overwrite an existing one.
func saveFile(path string, from io.Reader) (err error) {
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
func uploadFiles(ctx context.Context, server *client.Client, paths []string) ([]parley.File, error) {
	files := make([]parley.File, 0, len(paths))
	for _, path := range paths {
		file, err := uploadFile(ctx, server, path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		files = append(files, file)
	}
	return files, nil
}

func uploadFile(ctx context.Context, server *client.Client, path string) (parley.File, error) {
	from, err := os.Open(path)
	if err != nil {
		return parley.File{}, err
	}
	defer from.Close() //nolint:errcheck // only read
	return server.UploadFile(ctx, from, client.UploadFileQuery{Name: filepath.Base(path)})
}
