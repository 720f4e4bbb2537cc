// Command pack writes web/dist.zip, the form in which the page's files are embedded in the binary: a third of their
// size. It leaves the archive alone if it has the same files already, so that another version of Go, which may
// compress otherwise, changes nothing.
package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"io"
	"io/fs"
	"log"
	"os"
	"slices"
)

const (
	files   = "web/dist"
	archive = "web/dist.zip"
)

func main() {
	if err := pack(); err != nil {
		log.Fatal(err)
	}
}

func pack() error {
	root := os.DirFS(files)
	if old, err := zip.OpenReader(archive); err == nil {
		equal, err := same(root, old)
		_ = old.Close() // only read
		if equal || err != nil {
			return err
		}
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	w.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(to, flate.BestCompression)
	})
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		file, err := w.Create(name) // without a time
		if err != nil {
			return err
		}
		_, err = file.Write(body)
		return err
	})
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(archive, out.Bytes(), 0o644) //nolint:gosec // a file of the repository
}

// same reports whether two trees have the same files.
func same(a, b fs.FS) (bool, error) {
	one, err := contents(a)
	if err != nil {
		return false, err
	}
	other, err := contents(b)
	return slices.Equal(one, other), err
}

// contents are the names and contents of all files, in order.
func contents(tree fs.FS) (found []string, err error) {
	err = fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := fs.ReadFile(tree, name)
		found = append(found, name, string(body))
		return err
	})
	return found, err
}
