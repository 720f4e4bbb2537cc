package main

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.org/parley"
	"example.org/parley/client"
)

const (
	completionTime = 2 * time.Second // a shell waits for its completions
	mostCompleted  = 50
)

// completeWords completes the arguments and flags of all commands that name something the server knows: ids, slugs and
// models. Verbs and flags are cobra's.
func completeWords(root *cobra.Command, shared *flags) {
	for _, command := range root.Commands() {
		completeWords(command, shared)
	}
	if places := placesOf(root); len(places) > 0 && root.ValidArgsFunction == nil && root.Runnable() {
		root.ValidArgsFunction = func(
			command *cobra.Command,
			args []string,
			begun string,
		) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) >= len(places) {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			kind := places[len(args)]
			if strings.HasPrefix(kind, "PATH") || strings.HasPrefix(kind, "FILE|") {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return shared.completed(command, kind, begun)
		}
	}
	root.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
		kind := ""
		switch value := flag.Value.(type) {
		case *mention:
			kind = cmp.Or(value.kind, "AGENT")
		case *mentions:
			kind = cmp.Or(value.kind, "AGENT")
		default:
			if slices.Contains([]string{"model", "agent", "session"}, flag.Name) {
				kind = strings.ToUpper(flag.Name)
			}
		}
		if kind != "" {
			_ = root.RegisterFlagCompletionFunc(flag.Name, func( // it is one of the command's flags
				command *cobra.Command,
				_ []string,
				begun string,
			) ([]cobra.Completion, cobra.ShellCompDirective) {
				return shared.completed(command, kind, begun)
			})
		}
	})
}

// isPlainWord reports whether a word means itself to every shell. Shells insert what several completions have in common
// as it is, and the completion scripts evaluate the line at the next tab: a provider that lists a model a$(command)
// would have it run.
func isPlainWord(word string) bool {
	return word != "" && !strings.HasPrefix(word, "-") && !strings.ContainsFunc(word, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') &&
			!strings.ContainsRune("-_./:@+", r)
	})
}

// completed returns the words of a kind that begin like the one being typed; none without a server.
func (f *flags) completed(
	command *cobra.Command,
	kind, begun string,
) (words []cobra.Completion, directive cobra.ShellCompDirective) {
	server, err := f.connect(getenv)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer server.Close()
	parent := command.Context()
	if parent == nil {
		parent = context.Background()
	}
	ctx, cancel := context.WithTimeout(parent, completionTime)
	defer cancel()
	if kind == "MODEL" {
		for known, err := range server.AllModels(ctx, client.ModelsQuery{}) {
			if err != nil {
				break
			}
			if id := string(known.ID); strings.HasPrefix(id, begun) && isPlainWord(id) {
				words = append(words, cobra.CompletionWithDesc(id, modelPrice(&known)))
			}
		}
		slices.Sort(words)
		return words, cobra.ShellCompDirectiveNoFileComp
	}
	all, ok := referents(ctx, server, kind, begun)
	if !ok {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if strings.HasPrefix(lastWord, begun) && kind != "AGENT" {
		words = append(words, lastWord)
	}
	for one, err := range all {
		if err != nil || len(words) >= mostCompleted {
			break
		}
		word := one.id.String()
		if kind == "AGENT" {
			word = one.names[0]
		}
		if strings.HasPrefix(word, begun) {
			words = append(words, cobra.CompletionWithDesc(word, plainLine(parley.Clip(one.says, maxCell))))
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
