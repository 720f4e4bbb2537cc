package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"example.org/parley/internal/lineedit"
)

// This file is how a chat reads what a person types.

const (
	usualPrompt   = "> "
	furtherPrompt = ". " // within a message of several lines
)

// edit has the person type with editing and history, if input and prompts are a terminal that can.
func (c *chat) edit() error {
	in, isFile := c.term.in.(*os.File)
	prompts, isScreen := c.term.err.(*screen)
	if !isFile || !isScreen || !isTerminal(in) || !prompts.watched || !steerable() {
		return nil
	}
	shown, isFile := prompts.to.(*os.File)
	if !isFile {
		return nil
	}
	history, err := c.openHistory()
	if err != nil {
		fmt.Fprintln(c.term.err, "! messages typed earlier cannot be recalled:", err)
	}
	c.editor, err = lineedit.Open(in, shown, lineedit.Options{
		Continue: continuedLine, Complete: completedCommand, History: history,
	})
	if err != nil {
		return err
	}
	c.term.err = &screen{to: c.editor, watched: true, styled: prompts.styled}
	if answers, ok := c.term.out.(*screen); ok && answers.watched {
		c.term.out = &screen{to: c.editor, watched: true, styled: answers.styled}
	}
	return nil
}

func (c *chat) closeEditor() {
	if c.editor != nil {
		c.editor.Close()
	}
}

// openHistory opens the file of what was typed in chats, which is apart from the data: it belongs to the person.
func (c *chat) openHistory() (*lineedit.History, error) {
	dir := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) { // as its standard says
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, err
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return lineedit.OpenHistory(filepath.Join(dir, "parley", "chat_history"))
}

// remember keeps a message for the next chats; never one that came through a pipe.
func (c *chat) remember(line string) {
	if c.editor == nil {
		return
	}
	if err := c.editor.Remember(line); err != nil && !c.forgets {
		c.forgets = true
		fmt.Fprintln(c.term.err, "! what you type is not kept for later:", err)
	}
}

// ask shows a prompt.
func (c *chat) ask(prompt string) {
	if c.editor == nil {
		fmt.Fprint(c.term.err, prompt)
		return
	}
	c.editor.Ask(prompt)
}

// answered takes the prompt away if its answer was typed ahead of it.
func (c *chat) answered() {
	if c.editor != nil {
		c.editor.Ask("")
	}
}

// unask takes the prompt away, which nobody has answered.
func (c *chat) unask() {
	if c.editor == nil {
		fmt.Fprintln(c.term.err)
		return
	}
	c.editor.Ask("")
}

// discard takes away what is typed; false if nothing was.
func (c *chat) discard() bool {
	if c.editor != nil && c.editor.Discard() {
		return true
	}
	c.unask()
	return false
}

// continuedLine decides whether a message goes on after Enter: after a \ at its end, and in a block of code.
func continuedLine(text string) (longer string, more bool) {
	open := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimLeft(line, " "), fence) {
			open = !open
		}
	}
	if open {
		return text + "\n", true
	}
	shorter, more := strings.CutSuffix(text, `\`)
	return shorter + "\n", more
}

// input returns the lines that the person types.
func (c *chat) input() <-chan string {
	switch {
	case c.lines != nil:
	case c.editor != nil:
		c.lines = c.editor.Lines()
	default:
		c.lines, c.failed = c.readLines()
	}
	return c.lines
}

// inputError is why the input ended; nil for its end.
func (c *chat) inputError() error {
	if c.editor != nil {
		return c.editor.Err()
	}
	return <-c.failed
}

// readLines reads the input in its own goroutine, which ends with the input or the chat; or with the process, if the
// person types nothing more.
func (c *chat) readLines() (<-chan string, <-chan error) {
	lines, failed := make(chan string), make(chan error, 1)
	go func() {
		defer close(lines)
		reader := bufio.NewReader(c.term.in)
		for {
			line, err := reader.ReadString('\n')
			if line != "" {
				select {
				case lines <- strings.TrimRight(line, "\r\n"):
				case <-c.over:
					return
				}
			}
			if errors.Is(err, io.EOF) {
				failed <- nil
				return
			}
			if err != nil {
				failed <- err
				return
			}
		}
	}()
	return lines, failed
}
