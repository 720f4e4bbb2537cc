package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
)

func artifactsCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{Use: "artifacts", Short: "See, write and compare documents with all their versions"}
	command.AddCommand(
		artifactsListCommand(shared, term),
		artifactsShowCommand(shared, term),
		createArtifactCommand(shared, term),
		writeArtifactCommand(shared, term),
		catArtifactCommand(shared, term),
		artifactsVersionsCommand(shared, term),
		uploadArtifactCommand(shared, term),
		downloadArtifactCommand(shared, term),
		artifactsExportCommand(shared, term),
		artifactsImportCommand(shared, term),
		diffArtifactCommand(shared, term),
		restoreArtifactCommand(shared, term),
		refreshArtifactCommand(shared, term),
		artifactsUpdateCommand(shared, term),
		artifactsArchiveCommand(shared, term),
		artifactsReopenCommand(shared, term),
		artifactsDeleteCommand(shared),
	)
	return command
}

// artifactLabels returns an artifact's labels on one line.
func artifactLabels(a *parley.Artifact) string { return strings.Join(a.Labels, ", ") }

// readContent reads a file, or standard input for "-". By "" its kind is found by its name and bytes.
func readContent(path string, kind parley.ArtifactKind) (json.RawMessage, parley.ArtifactKind, error) {
	from := io.Reader(os.Stdin)
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, "", err
		}
		defer file.Close() //nolint:errcheck // it was only read
		from = file
	}
	content, err := io.ReadAll(io.LimitReader(from, parley.MaxDocumentBytes+1))
	if err != nil {
		return nil, "", err
	}
	if len(content) > parley.MaxDocumentBytes {
		return nil, "", fmt.Errorf("%s is longer than %d bytes, the most that an artifact holds", path,
			parley.MaxDocumentBytes)
	}
	if kind == "" {
		kind = parley.KindOfFile(path, content)
	}
	encoded, err := parley.EncodeDocument(kind, content)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", path, err)
	}
	return encoded, kind, nil
}

func createArtifactCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{Use: "create FILE", Short: "Make an artifact of a file, or of standard input with -"}
	kind := command.Flags().
		String("kind", "", "json, markdown, text, code, csv, html, svg or file; by the file's name and "+
			"bytes by default")
	return makingArtifact(shared, term, command, kind)
}

func uploadArtifactCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{Use: "upload FILE", Short: "Make an artifact of kind file, such as an image or a PDF"}
	return makingArtifact(shared, term, command, new(string(parley.ArtifactFile)))
}

// makingArtifact completes a command that makes an artifact of a file.
func makingArtifact(shared *flags, term terminal, command *cobra.Command, kind *string) *cobra.Command {
	var input client.ArtifactInput
	var project, session, visibility string
	command.Args = cobra.ExactArgs(1)
	set := command.Flags()
	set.StringVar(&input.Name, "name", "", "its name; the file's by default")
	set.StringVar(&project, "project", "", "the project that it belongs to, by id")
	set.StringVar(&session, "session", "", "the session that it belongs to, by id")
	set.StringVar(&visibility, "visibility", "", "private or workspace")
	set.StringSliceVar(&input.Labels, "label", nil, "a label; repeatable")
	command.RunE = shared.asking(func(ctx context.Context, server *client.Client, args []string) (err error) {
		if input.Name == "" {
			input.Name = filepath.Base(args[0])
		}
		for _, named := range []struct {
			text string
			id   *parley.ID
		}{{project, &input.ProjectID}, {session, &input.SessionID}} {
			if named.text != "" {
				if *named.id, err = parley.ParseID(named.text); err != nil {
					return err
				}
			}
		}
		input.Visibility = parley.Visibility(visibility)
		input.Content, input.Kind, err = readContent(args[0], parley.ArtifactKind(*kind))
		if err != nil {
			return err
		}
		made, err := server.CreateArtifact(ctx, input)
		if err != nil {
			return err
		}
		return printOne(term, shared, &made, asRow(artifactsTable()))
	})
	return command
}

func writeArtifactCommand(shared *flags, term terminal) *cobra.Command {
	var input client.VersionInput
	command := &cobra.Command{
		Use:   "write ARTIFACT FILE",
		Short: "Write a file, or standard input with -, as a new version",
		Args:  cobra.ExactArgs(2),
	}
	command.Flags().IntVar(&input.BaseVersion, "base", 0, "the version that you began with; needed")
	command.Flags().BoolVar(&input.Merge, "merge", false, "join your changes with later ones of other places")
	command.RunE = shared.about(func(ctx context.Context, server *client.Client, id parley.ID, args []string) error {
		if input.BaseVersion == 0 {
			return errors.New(
				"name the version that you began with, as in --base 3; parley artifacts versions lists them",
			)
		}
		a, err := server.Artifact(ctx, id)
		if err != nil {
			return err
		}
		if input.Content, _, err = readContent(args[1], a.Kind); err != nil {
			return err
		}
		version, err := server.WriteArtifactVersion(ctx, id, input)
		if err != nil {
			return err
		}
		return printVersion(term, shared, &version)
	})
	return command
}

func restoreArtifactCommand(shared *flags, term terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "restore ARTIFACT VERSION",
		Short: "Write the content of an earlier version as a new one",
		Args:  cobra.ExactArgs(2),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, args []string) error {
			number, err := strconv.Atoi(args[1])
			if err != nil {
				return fmt.Errorf("%q is not the number of a version", args[1])
			}
			version, err := server.RestoreArtifactVersion(ctx, id, number)
			if err != nil {
				return err
			}
			return printVersion(term, shared, &version)
		}),
	}
}

func printVersion(term terminal, shared *flags, version *parley.ArtifactVersion) error {
	return printOne(term, shared, version, func(term terminal, v *parley.ArtifactVersion) error {
		merged := ""
		if v.Merged() {
			merged = fmt.Sprintf(", merged with what was written since version %d", v.Base)
		}
		_, err := fmt.Fprintf(term.out, "version %d%s\n", v.Number, merged)
		return err
	})
}

func catArtifactCommand(shared *flags, term terminal) *cobra.Command {
	var version int
	command := &cobra.Command{
		Use: "cat ARTIFACT", Short: "Print the content of an artifact", Args: cobra.ExactArgs(1),
	}
	command.Flags().IntVar(&version, "version", 0, "the newest by default")
	command.RunE = shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
		content, err := server.ArtifactContent(ctx, id, client.ArtifactContentQuery{Version: version})
		if err != nil {
			return err
		}
		defer content.Close() //nolint:errcheck // the body was read
		_, err = io.Copy(term.exact, content)
		return err
	})
	return command
}

func downloadArtifactCommand(shared *flags, term terminal) *cobra.Command {
	var version int
	command := &cobra.Command{
		Use:   "download ARTIFACT [FILE]",
		Short: "Save the content of an artifact in a new file, which has the artifact's name by default",
		Args:  cobra.RangeArgs(1, 2),
	}
	command.Flags().IntVar(&version, "version", 0, "the newest by default")
	command.RunE = shared.about(func(ctx context.Context, server *client.Client, id parley.ID, args []string) error {
		a, err := server.Artifact(ctx, id)
		if err != nil {
			return err
		}
		to := filepath.Base(a.Name) // names lead nowhere else
		if len(args) > 1 {
			to = args[1]
		}
		content, err := server.ArtifactContent(ctx, id, client.ArtifactContentQuery{Version: version})
		if err != nil {
			return err
		}
		defer content.Close() //nolint:errcheck // the body was read
		file, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		size, err := io.Copy(file, content)
		if err = errors.Join(err, file.Close()); err != nil {
			return errors.Join(err, os.Remove(to)) // not half of it
		}
		_, err = fmt.Fprintf(term.out, "%s: %d bytes\n", to, size)
		return err
	})
	return command
}

func printExport(term terminal, e *client.ArtifactExport) error {
	_, err := fmt.Fprintf(term.out, "version %d is in %s\n", e.Version, e.Path)
	return err
}

func diffArtifactCommand(shared *flags, term terminal) *cobra.Command {
	var from, to int
	command := &cobra.Command{
		Use: "diff ARTIFACT", Short: "Compare two versions of an artifact", Args: cobra.ExactArgs(1),
	}
	command.Flags().IntVar(&from, "from", 0, "the version before by default")
	command.Flags().IntVar(&to, "to", 0, "the newest by default")
	command.RunE = shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
		diff, err := server.DiffArtifact(ctx, id, client.DiffArtifactQuery{From: from, To: to})
		if err != nil {
			return err
		}
		return printOne(term, shared, &diff, printDiff)
	})
	return command
}

// printDiff prints a difference in the form that programs know: the changed lines, or the operations of a JSON Patch.
func printDiff(term terminal, d *client.ArtifactDiff) error {
	out := &strings.Builder{}
	fmt.Fprintf(out, "--- version %d\n+++ version %d\n", d.From, d.To)
	for i := range d.Patch {
		edit := &d.Patch[i]
		fmt.Fprintf(out, "%s %s", edit.Op, strconv.Quote(edit.Path))
		if edit.From != "" {
			fmt.Fprintf(out, " from %s", strconv.Quote(edit.From))
		}
		if edit.Value != nil {
			fmt.Fprintf(out, " %s", edit.Value)
		}
		out.WriteByte('\n')
	}
	for _, file := range d.Files {
		fmt.Fprintf(
			out,
			"version %d: %s, %d bytes, SHA-256 %s\n",
			file.Version,
			file.MediaType,
			file.Bytes,
			file.ContentHash,
		)
	}
	signs := map[parley.DiffOp]string{parley.DiffSame: " ", parley.DiffRemoved: "-", parley.DiffAdded: "+"}
	for _, hunk := range d.Hunks {
		fmt.Fprintf(out, "@@ -%d +%d @@\n", hunk.From, hunk.To)
		for _, line := range hunk.Lines {
			out.WriteString(signs[line.Op] + line.Text + "\n")
		}
	}
	if d.Truncated {
		out.WriteString("… and more, which is too long to show\n")
	}
	_, err := io.WriteString(term.out, out.String())
	return err
}
