package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// referenceCommand prints docs/reference/cli.md; `make generate` does so.
func referenceCommand(term terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "reference",
		Short: "Print the reference of this command line, as Markdown",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(term.exact, reference(cmd.Root()))
			return err
		},
	}
}

// reference is a page about the whole command line, made from the commands themselves.
func reference(root *cobra.Command) string {
	var out strings.Builder
	out.WriteString("# The command line\n\n<!-- Made by make generate from the commands. Do not edit. -->\n\n" +
		"What `parley --help` and the help of each command say, on one page.\n\n## Flags of all commands\n\n")
	flagTable(&out, root.PersistentFlags())
	for _, command := range root.Commands() {
		if command.Name() != "help" && command.Name() != "completion" {
			referTo(&out, command, "##")
		}
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

func referTo(out *strings.Builder, command *cobra.Command, level string) {
	fmt.Fprintf(out, "%s %s\n\n", level, command.CommandPath())
	if command.Runnable() {
		fmt.Fprintf(out, "`%s`\n\n", strings.TrimSuffix(command.UseLine(), " [flags]"))
	}
	if command.Long == "" {
		writeParagraph(out, command.Short+".")
	} else {
		fmt.Fprintf(out, "```text\n%s\n```\n\n", strings.TrimRight(command.Long, "\n"))
	}
	flagTable(out, command.LocalNonPersistentFlags())
	for _, below := range command.Commands() {
		referTo(out, below, "###")
	}
}

// pageWidth is how long the page's lines are, tables aside.
const pageWidth = 120

func writeParagraph(out *strings.Builder, text string) {
	width := 0
	for _, word := range strings.Fields(text) {
		if width+len(word) > pageWidth {
			out.WriteString("\n")
			width = 0
		}
		if width > 0 {
			out.WriteString(" ")
		}
		out.WriteString(word)
		width += len(word) + 1
	}
	out.WriteString("\n\n")
}

// flagTable writes the flags of a command, if it has any but --help.
func flagTable(out *strings.Builder, flags *pflag.FlagSet) {
	var rows strings.Builder
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden || flag.Name == "help" {
			return
		}
		name := "--" + flag.Name
		if flag.Value.Type() != "bool" {
			name += " " + flag.Value.Type()
		}
		usage := strings.ReplaceAll(flag.Usage, "|", `\|`)
		if !slices.Contains([]string{"", "false", "0", "[]", "0s"}, flag.DefValue) {
			usage += "; " + flag.DefValue + " by default"
		}
		fmt.Fprintf(&rows, "| `%s` | %s |\n", name, usage)
	})
	if rows.Len() > 0 {
		out.WriteString("| flag | what it is |\n|---|---|\n" + rows.String() + "\n")
	}
}
