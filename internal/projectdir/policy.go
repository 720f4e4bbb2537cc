// Package projectdir decides which directories may be projects, and which of their files tools may
// touch. It owns the rules and no state: each time it opens a file it resolves the path again and
// checks what the kernel actually opened, so the rules also cover old projects and links that have
// just changed.
//
// The rules, from wide to narrow: a project lies inside the configured roots; it never lies in the
// server's data directory or above it, in a system directory, in a hidden directory of a home, or
// in a .git; and inside a project, the server's own files (by device and inode) and files that
// usually hold secrets are refused.
package projectdir

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"example.org/parley"
)

// Options configure a Policy. All are optional.
type Options struct {
	Roots   []string // directories that projects may lie in; none: the home, for the local owner
	Data    string   // the server's data directory
	Closed  []string // the server's other directories: nothing in them is shown
	Files   []string // the server's other files
	Secrets []string // patterns added to DefaultSecrets; "!" before one lifts it
}

// Policy holds the rules of one server. It is safe for concurrent use.
type Policy struct {
	roots   []string
	any     bool // projects may lie anywhere not refused
	data    string
	closed  []string
	files   []string
	system  []string // also with links resolved
	homes   []string
	secrets *secrets
	adding  sync.Mutex // serialises writes that might make a repository
}

// systemDirectories are never a project, nor is anything in them: others run or read what is written there.
func systemDirectories() []string {
	return []string{"/etc", "/run", "/var/run", "/proc", "/sys", "/dev", "/boot", "/var/spool"}
}

// New makes a policy; CodeInvalid for an unusable root or pattern.
func New(options Options) (*Policy, error) {
	patterns, err := newSecrets(options.Secrets)
	if err != nil {
		return nil, err
	}
	p := newPolicy(patterns)
	p.data, p.closed, p.files = options.Data, options.Closed, options.Files
	rules := p.now()
	for _, root := range options.Roots {
		if !filepath.IsAbs(root) {
			return nil, parley.InvalidField(
				"project_roots",
				"%q is not an absolute path",
				parley.Clip(root, 128),
			)
		}
		if resolved, err := filepath.EvalSymlinks(
			root,
		); err == nil &&
			(resolved == "/" || rules.refusedProject(resolved) != "") {
			return nil, parley.InvalidField(
				"project_roots",
				"%q cannot be a root: no project may lie there; name the directories that projects lie in",
				parley.Clip(root, 128),
			)
		}
		p.roots = append(p.roots, filepath.Clean(root))
	}
	return p, nil
}

// Anywhere returns a policy without roots, for programs that choose directories themselves. It still refuses what every
// policy refuses.
func Anywhere() *Policy {
	patterns, err := newSecrets(nil)
	if err != nil {
		panic(err) // the default patterns are tested
	}
	p := newPolicy(patterns)
	p.any = true
	return p
}

// Home returns a policy without configured roots: projects lie in the home directory.
func Home() *Policy {
	p := Anywhere()
	p.any = false
	return p
}

func newPolicy(patterns *secrets) *Policy {
	p := &Policy{secrets: patterns, homes: []string{"/root"}}
	for _, system := range systemDirectories() {
		p.system = append(p.system, system, realPath(system))
	}
	if home, err := os.UserHomeDir(); err == nil {
		p.homes = append(p.homes, filepath.Clean(home), realPath(home))
	}
	if self, err := user.Current(); err == nil && self.HomeDir != "" {
		p.homes = append(p.homes, filepath.Clean(self.HomeDir), realPath(self.HomeDir))
	}
	return p
}

// Configured reports whether an admin has named roots. Without them only the
// server's own user chooses projects.
func (p *Policy) Configured() bool { return len(p.roots) > 0 || p.any }

// Roots returns the directories that projects may lie in, resolved, without missing ones.
func (p *Policy) Roots() ([]string, error) {
	configured := p.roots
	switch {
	case p.any:
		configured = []string{"/"}
	case len(configured) == 0:
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, parley.InvalidField(
				"path",
				"no directory is allowed for projects: the server has no home directory and no roots are configured",
			)
		}
		configured = []string{home}
	}
	roots := make([]string, 0, len(configured))
	for _, root := range configured {
		if resolved, err := filepath.EvalSymlinks(root); err == nil { // a missing root contains nothing
			roots = append(roots, resolved)
		}
	}
	return roots, nil
}

// Resolve returns the real path of a directory that may be a project.
func (p *Policy) Resolve(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", parley.InvalidField("path", "%q is not an absolute path", parley.Clip(path, 128))
	}
	roots, err := p.Roots()
	if err != nil {
		return "", err
	}
	resolved, info, err := resolve(path)
	// Do not reveal whether something outside the roots exists.
	probe := resolved
	if err != nil {
		probe = leadsTo(path)
	}
	if !insideAny(roots, probe) {
		return "", parley.InvalidField(
			"path",
			"%q lies outside the directories allowed for projects: %s",
			parley.Clip(path, 128),
			strings.Join(roots, ", "),
		)
	}
	rules := p.now()
	if why := rules.refusedProject(probe); why != "" { // nor inside a refused directory
		return "", refusal(path, why)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", parley.InvalidField("path", "%q does not exist; create the directory first", parley.Clip(path, 128))
	case errors.Is(err, fs.ErrPermission):
		return "", parley.InvalidField("path", "%q cannot be read by the server", parley.Clip(path, 128))
	case err != nil || !info.IsDir():
		return "", parley.InvalidField("path", "%q is not a directory", parley.Clip(path, 128))
	}
	why := rules.refusedIdentity(resolved)
	if why == "" {
		why = p.above(resolved, info)
	}
	if why != "" {
		return "", refusal(path, why)
	}
	return resolved, nil
}

func refusal(path, why string) error {
	return parley.InvalidField("path", "%q cannot be a project: %s", parley.Clip(path, 128), why)
}

func resolve(path string) (string, fs.FileInfo, error) {
	resolved, err := filepath.EvalSymlinks(filepath.Clean(path))
	if err != nil {
		return "", nil, err
	}
	info, err := os.Stat(resolved)
	return resolved, info, err
}

// leadsTo returns where a path that cannot be resolved would lie: it follows every link on the way, and takes missing
// parts by name.
func leadsTo(path string) string {
	at, rest := "/", strings.Split(filepath.Clean(path), "/")
	for links := 0; len(rest) > 0; {
		next := filepath.Join(at, rest[0])
		rest = rest[1:]
		target, err := os.Readlink(next)
		if err != nil {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return next
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return at
}

// Shown returns a function that reports whether a directory may be listed when a project is chosen: its real path lies
// inside the roots, and in nothing refused. A directory that contains the data directory is shown, for its other
// contents.
func (p *Policy) Shown(roots []string) func(path string) bool {
	rules := p.now()
	return func(path string) bool {
		return insideAny(roots, path) && rules.refusedProject(path) == "" && rules.refusedIdentity(path) == ""
	}
}

// above says why a directory that contains the server's data may not be a project.
func (p *Policy) above(path string, info fs.FileInfo) string {
	if path == "/" {
		return "it is the root of the file system"
	}
	if p.data == "" {
		return ""
	}
	for at := realPath(p.data); ; at = filepath.Dir(at) { // under any name, such as a mount's
		if stat, err := os.Stat(at); err == nil && os.SameFile(stat, info) {
			return "the server's own data lies in it; choose a directory beside that"
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

// rules are a policy's rules with the present state of the server's own directories.
type rules struct {
	*Policy
	trees   []string          // by name
	own     []fs.FileInfo     // by identity: a mount may show them under another name
	checked map[string]string // results of refusedIdentity
}

func (p *Policy) now() *rules {
	r := &rules{Policy: p, checked: map[string]string{}}
	for _, directory := range p.ownDirectories() {
		r.trees = append(r.trees, filepath.Clean(directory), realPath(directory))
		if info, err := os.Stat(directory); err == nil {
			r.own = append(r.own, info)
		}
	}
	return r
}

func (p *Policy) ownDirectories() []string {
	own := slices.Clone(p.closed)
	if p.data != "" {
		own = append(own, p.data)
	}
	return own
}

// refusedProject says why a real path may not be a project, judged by its name; "" if it may.
func (r *rules) refusedProject(path string) string {
	if inGit(path) {
		return "it lies in a .git"
	}
	return r.refused(path)
}

// refused says why a real path is closed to everybody, judged by its name.
func (r *rules) refused(path string) string {
	switch pattern, secret := r.secrets.match(path); {
	case insideAny(r.trees, path):
		return ownReason
	case insideAny(r.system, path):
		return "it is a directory of the system"
	case r.inHiddenOfHome(path):
		return "what begins with a dot in a home directory is private"
	case secret:
		return "secrets usually lie there (" + pattern + "); the operator can change that with secret_files"
	}
	return ""
}

const ownReason = "it belongs to the server itself"

// refusedIdentity says why a directory is closed, judged by the identity of it and its parents. Each is checked once.
func (r *rules) refusedIdentity(path string) string {
	if len(r.own) == 0 {
		return ""
	}
	why, known := r.checked[path]
	if known {
		return why
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && slices.ContainsFunc(r.own, func(own fs.FileInfo) bool { return os.SameFile(own, info) }):
		why = ownReason
	case path != filepath.Dir(path):
		why = r.refusedIdentity(filepath.Dir(path))
	}
	r.checked[path] = why
	return why
}

// inHiddenOfHome reports whether a path is, or lies in, an entry of somebody's home that begins with a dot.
func (p *Policy) inHiddenOfHome(path string) bool {
	hiddenIn := func(home string) bool {
		relative, ok := below(home, path)
		return ok && strings.HasPrefix(relative, ".") && relative != "."
	}
	for _, all := range []string{"/home", "/Users"} { // <all>/<name> is a home
		if relative, ok := below(all, path); ok {
			name, _, _ := strings.Cut(relative, "/")
			if hiddenIn(filepath.Join(all, name)) {
				return true
			}
		}
	}
	return slices.ContainsFunc(p.homes, hiddenIn)
}

// inGit reports whether a component of the path is a .git, in any spelling.
func inGit(path string) bool {
	return slices.ContainsFunc(
		strings.Split(filepath.ToSlash(path), "/"),
		func(name string) bool { return fold(name) == ".git" },
	)
}

// realPath resolves links as far as the path exists.
func realPath(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(realPath(parent), filepath.Base(path))
	}
	return path
}

// below returns a path relative to a directory that contains it, "." for the directory itself.
func below(directory, path string) (relative string, ok bool) {
	relative, err := filepath.Rel(directory, path)
	return relative, err == nil && relative != ".." && !strings.HasPrefix(relative, "../")
}

func inside(directory, path string) bool {
	_, ok := below(directory, path)
	return ok
}

func insideAny(directories []string, path string) bool {
	return slices.ContainsFunc(directories, func(one string) bool { return inside(one, path) })
}
