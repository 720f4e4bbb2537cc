package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// exitUsage is the exit status of a command that was typed wrong.
const exitUsage = 2

// usageError reports a command that was typed wrong.
type usageError struct {
	command *cobra.Command
	says    string
}

func (e *usageError) Error() string { return e.says }

// misused returns a usageError for flags that exclude each other or have no effect.
func misused(command *cobra.Command, format string, args ...any) error {
	return &usageError{command, fmt.Sprintf(format, args...)}
}

// print shows the error and the usage: the verbs of a group, or the line of a verb.
func (e *usageError) print(w io.Writer) {
	fmt.Fprintln(w, "parley:", e.says)
	if e.command.HasAvailableSubCommands() {
		fmt.Fprint(w, "\n", e.command.UsageString())
		return
	}
	fmt.Fprintf(w, "\nUsage:\n  %s\n\nUse \"%s --help\" for its flags.\n", e.command.UseLine(), e.command.CommandPath())
}

// checkArguments makes the errors of all commands name what is missing or unknown.
func checkArguments(root *cobra.Command) {
	root.SetFlagErrorFunc(func(command *cobra.Command, err error) error { return &usageError{command, flagError(err)} })
	var walk func(*cobra.Command)
	walk = func(command *cobra.Command) {
		if accepts := command.Args; accepts != nil && command.Runnable() {
			command.Args = func(command *cobra.Command, args []string) error {
				if err := accepts(command, args); err != nil {
					return &usageError{command, countError(command, args, err)}
				}
				if err := command.ValidateRequiredFlags(); err != nil {
					return &usageError{command, missingFlags(err)}
				}
				if err := command.ValidateFlagGroups(); err != nil {
					return &usageError{command, together(err)}
				}
				return nil
			}
		}
		for _, below := range command.Commands() {
			walk(below)
		}
	}
	walk(root)
}

// missingFlags names the required flags that cobra's error reports as not set.
func missingFlags(err error) string {
	_, names, _ := strings.Cut(err.Error(), "required flag(s) ")
	names = strings.TrimSuffix(names, " not set")
	missing := strings.Split(strings.ReplaceAll(names, `"`, ""), ", ")
	if len(missing) == 1 {
		return "--" + missing[0] + " is missing"
	}
	return "--" + strings.Join(missing, " and --") + " are missing"
}

// flagError puts Go's message about an invalid number into plain words.
func flagError(err error) string {
	says, cause, isValue := strings.Cut(err.Error(), ": strconv.")
	switch {
	case !isValue:
	case strings.HasPrefix(cause, "ParseBool"):
		says += ": it must be true or false"
	default:
		says += ": it must be a number"
	}
	return says
}

// together names the flags that cobra's error reports as excluding each other.
func together(err error) string {
	_, given, ok := strings.Cut(err.Error(), "; [")
	names, _, ends := strings.Cut(given, "] were all set")
	if !ok || !ends {
		return err.Error()
	}
	return "--" + strings.ReplaceAll(names, " ", " and --") + " do not go together"
}

// placesOf returns the arguments that a command's usage line names, such as AGENT.
func placesOf(command *cobra.Command) (places []string) {
	for _, word := range strings.Fields(command.Use)[1:] {
		if strings.HasPrefix(word, "-") || strings.HasPrefix(word, "[-") {
			break
		}
		places = append(places, word)
	}
	return places
}

// countError names the argument that is missing, or the first one too many.
func countError(command *cobra.Command, args []string, err error) string {
	places := placesOf(command)
	if len(args) < len(places) {
		return places[len(args)] + " is missing"
	}
	if len(args) > len(places) {
		return fmt.Sprintf("%q is more than %s takes", args[len(places)], command.CommandPath())
	}
	return err.Error()
}

// unknownVerb reports a word where a verb should be.
func unknownVerb(root *cobra.Command, args []string) error {
	switch firstWord(root, args) {
	case cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd: // sent by completion scripts
		return nil
	}
	command, rest, err := root.Find(args)
	if err != nil { // an unknown verb of the root
		first, _, _ := strings.Cut(err.Error(), "\n")
		return &usageError{root, first + suggestions(root, firstWord(root, args))}
	}
	if command.Runnable() || !command.HasSubCommands() {
		return nil
	}
	if word := firstWord(command, rest); word != "" && !asksForHelp(rest) {
		return &usageError{
			command,
			fmt.Sprintf("unknown command %q for %q", word, command.CommandPath()) + suggestions(command, word),
		}
	}
	return nil
}

func asksForHelp(args []string) bool {
	for _, arg := range args {
		if arg == "--help" || arg == "-h" {
			return true
		}
	}
	return false
}

// firstWord is the first argument that is neither a flag nor its value.
func firstWord(command *cobra.Command, args []string) string {
	for i := 0; i < len(args); i++ {
		name, isFlag := strings.CutPrefix(args[i], "--")
		if !isFlag {
			if !strings.HasPrefix(args[i], "-") {
				return args[i]
			}
			continue
		}
		if strings.Contains(name, "=") {
			continue
		}
		flag := command.Flag(name)
		if flag == nil {
			flag = command.InheritedFlags().Lookup(name)
		}
		if flag != nil && flag.NoOptDefVal == "" {
			i++ // its value
		}
	}
	return ""
}

// typoDistance is how many letters may differ between a word and the verb that it was meant to be.
const typoDistance = 2

func suggestions(command *cobra.Command, word string) string {
	if command.SuggestionsMinimumDistance <= 0 {
		command.SuggestionsMinimumDistance = typoDistance
	}
	meant := command.SuggestionsFor(word)
	if len(meant) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(meant, " or ") + "?"
}

// printError prints why a command failed, and returns its exit status.
func printError(w io.Writer, err error, sentence string) int {
	var usage *usageError
	if errors.As(err, &usage) {
		usage.print(w)
		return exitUsage
	}
	fmt.Fprintln(w, "parley:", sentence)
	return 1
}
