package projectdir

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"example.org/parley"
)

// maxPatterns bounds the patterns that an admin adds.
const maxPatterns = 1000

// DefaultSecrets returns the usual places of secrets. A pattern is a name, or consecutive names, anywhere in a path; *
// and ? as in path.Match; case is ignored.
func DefaultSecrets() []string {
	return []string{
		".env",
		".env.*",
		".envrc",
		".ssh",
		"id_rsa",
		"id_dsa",
		"id_ecdsa",
		"id_ecdsa_sk",
		"id_ed25519",
		"id_ed25519_sk",
		".gnupg",
		".password-store",
		"*.pem",
		"*.key",
		"*.ppk",
		"*.p12",
		"*.pfx",
		"*.jks",
		"*.keystore",
		"*.kdbx",
		".aws",
		".azure",
		".boto",
		".config/gcloud",
		".config/gh",
		".oci",
		".kube",
		"kubeconfig",
		".docker/config.json",
		".dockercfg",
		".config/containers/auth.json",
		".netrc",
		"_netrc",
		".git-credentials",
		".pgpass",
		".my.cnf",
		".htpasswd",
		".vault-token",
		".git/config",
		".git/config.worktree",
		".git/worktrees/*/config.worktree",
		".git/modules",
		".npmrc",
		".yarnrc.yml",
		".pypirc",
		".cargo/credentials",
		".cargo/credentials.toml",
		".gem/credentials",
		".m2/settings.xml",
		".terraform.d/credentials.tfrc.json",
		".terraformrc",
		".bash_history",
		".zsh_history",
		".psql_history",
		".python_history",
	}
}

// secrets are patterns in order; the last match decides.
type secrets struct {
	patterns []pattern
	literal  map[string][]int // by their last name, if that has no wildcard
	wild     []int            // the others
}

type pattern struct {
	text  string
	names []string // consecutive names
	lifts bool
}

func newSecrets(added []string) (*secrets, error) {
	if len(added) > maxPatterns {
		return nil, parley.InvalidField("secret_files", "has more than %d patterns", maxPatterns)
	}
	s := &secrets{literal: map[string][]int{}}
	for i, text := range slices.Concat(DefaultSecrets(), added) {
		bare, lifts := strings.CutPrefix(strings.TrimSpace(text), "!")
		one := pattern{text: bare, names: strings.Split(fold(bare), "/"), lifts: lifts}
		for _, name := range one.names {
			if _, err := path.Match(name, ""); err != nil || name == "" || name == "." || name == ".." {
				return nil, parley.InvalidField(
					"secret_files",
					"%q is not a pattern: write a name such as *.pem, or names in a row such as .docker/config.json",
					parley.Clip(text, 128),
				)
			}
		}
		s.patterns = append(s.patterns, one)
		if last := one.names[len(one.names)-1]; strings.ContainsAny(last, `*?[\`) {
			s.wild = append(s.wild, i)
		} else {
			s.literal[last] = append(s.literal[last], i)
		}
	}
	return s, nil
}

// match finds the pattern by which a path, or a parent of it, is secret.
func (s *secrets) match(at string) (string, bool) {
	names := strings.Split(fold(filepath.ToSlash(at)), "/")
	for end := 1; end <= len(names); end++ {
		last := -1
		for _, candidates := range [][]int{s.literal[names[end-1]], s.wild} {
			for _, i := range candidates {
				if i > last && s.patterns[i].fits(names[:end]) {
					last = i
				}
			}
		}
		if last >= 0 && !s.patterns[last].lifts {
			return s.patterns[last].text, true
		}
	}
	return "", false
}

// fits reports whether the path ends in the pattern's names.
func (p *pattern) fits(names []string) bool {
	if len(names) < len(p.names) {
		return false
	}
	for i, name := range names[len(names)-len(p.names):] {
		if ok, err := path.Match(p.names[i], name); !ok || err != nil {
			return false
		}
	}
	return true
}

// fold makes names equal that some file system considers equal: it removes case and invisible characters.
func fold(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, name))
}
