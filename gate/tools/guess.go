package tools

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"callgate/gate/tools/internal/wording"
	"callgate/gate/tools/kinds"
	"callgate/permissions"
)

// guess is what names and schema suggest about an unmapped tool. It may add denies and raise risk. A server gains
// nothing by harmless names.
type guess struct {
	argument string // the argument that seems to hold the value of the kind
	reads    bool   // the name says that the tool only looks, and no annotation says otherwise
	changes  bool   // the name or an annotation says that it changes something
	opens    bool   // the name says that it opens addresses
	sql      bool   // the tool seems to talk to a database
	process  bool   // the tool seems to talk to a running process
}

// Words of tool names, by what they say.
var (
	runWords     = wording.Set("run execute exec shell bash sh zsh terminal command cmd powershell pwsh ssh eval spawn launch")
	readWords    = wording.Set("read get open view cat show load list find search grep glob tree stat info describe query lookup fetch look inspect count")
	writeWords   = wording.Set("write create save put append update set store add touch mkdir upload")
	editWords    = wording.Set("edit replace patch insert modify apply str")
	deleteWords  = wording.Set("delete remove rm rmdir unlink drop destroy purge wipe truncate erase trash kill terminate uninstall")
	moveWords    = wording.Set("move mv rename")
	grepWords    = wording.Set("grep rg ripgrep")
	globWords    = wording.Set("glob ls dir")
	fetchWords   = wording.Set("fetch browse navigate download curl http https request scrape crawl webfetch goto")
	fileWords    = wording.Set("file files path document doc folder directory dir workspace")
	processWords = wording.Set("process session interact keys keystrokes pty tmux repl stdin terminal")
	sqlWords     = wording.Set("sql query database db postgres postgresql mysql mariadb sqlite bigquery snowflake clickhouse duckdb mssql")
	// Names of arguments that tell where something begins and ends: a file, a journey or a mail.
	endpointWords = wording.Set("from to location target destination source")

	speakWords  = wording.Set("speak tts say play announce")
	listenWords = wording.Set("listen stt transcribe microphone record dictate")
)

// guessFrom fills in what the tool's name and definition suggest.
func (t *Tool) guessFrom(d definition) {
	words := wordsOf(t.Name)
	has := func(set map[string]bool) bool {
		return slices.ContainsFunc(words, func(w string) bool { return set[w] })
	}
	argument := func(want Role) string {
		for _, a := range d.arguments {
			if guessRole(a) == want {
				return a
			}
		}
		return ""
	}
	t.category, t.Why = CategoryNetwork, "unknown: not in the catalogue of a configured package"

	changes := has(writeWords) || has(editWords) || has(deleteWords) || has(moveWords) || has(runWords)
	t.guess = guess{
		reads:   has(readWords) && !changes && !alsoActs(words) && d.hints.readOnly != no,
		changes: changes || d.hints.readOnly == no,
		opens:   has(fetchWords),
		sql:     has(sqlWords) || slices.ContainsFunc(wordsOf(d.description), func(w string) bool { return sqlWords[w] && w != "query" }),
		process: has(processWords),
	}
	if kind, argument := t.guessKind(d, has, argument); kind != "" {
		t.Kind, t.guess.argument = kind, argument
		t.category = kinds.Of[kind].Category
		t.Why = "guess from the name and the schema: adds denies and risk, allows nothing"
	}
	if k, ok := kinds.Of[t.Kind]; ok {
		t.baseRisk = permissions.Unknown.Worse(k.Risk)
	}
	if has(deleteWords) {
		t.baseRisk = t.baseRisk.Worse(permissions.Destructive)
	}
}

// guessKind returns the kind that a tool seems to be of, and the argument that seems to hold its value; "" for none.
// has reports whether the tool's name has one of the words, and argument finds an argument by its role.
func (t *Tool) guessKind(d definition, has func(map[string]bool) bool, argument func(Role) string) (kind, value string) {
	command, path, address := argument(kinds.Command), d.file(has, argument(kinds.ReadPath)), argument(kinds.URL)
	_, canonical := kinds.Of[t.Name]
	switch file := has(fileWords) || path != ""; {
	case t.guess.process && argument(kinds.Input) != "":
		return KindProcessInput, argument(kinds.Input)
	case command != "" || has(runWords) && !t.guess.sql && (argument(kinds.Code) != "" || len(d.arguments) == 0):
		return KindShell, command
	case canonical && callable(t.Name):
		return t.Name, ""
	case file && changesFiles(has) != "":
		return changesFiles(has), path
	case has(grepWords):
		return KindGrep, path
	case has(globWords):
		return KindGlob, path
	case has(fetchWords) && address != "":
		return KindFetch, address
	case t.guess.reads && file && path != "":
		return KindReadFile, path
	}
	return "", ""
}

// file returns the argument that seems to name a file. It returns "" if neither the tool's words nor another argument
// is about files: from Berlin to Rome, from miles to kilometres.
func (d *definition) file(has func(map[string]bool) bool, argument string) string {
	if has(fileWords) || has(moveWords) || slices.ContainsFunc(wordsOf(d.description), func(w string) bool { return fileWords[w] }) ||
		slices.ContainsFunc(d.arguments, func(a string) bool { return guessRole(a) == kinds.ReadPath && !endpointWords[a] }) {
		return argument
	}
	return ""
}

// callable reports whether a kind is one of tools, not of other requests by hosts and servers.
func callable(kind string) bool {
	return kind != KindResource && kind != KindPrompt && kind != KindSampling && kind != KindConnect && !kinds.OpensSandbox(kind)
}

// changesFiles returns the kind of file change that words of a name suggest, "" for none.
func changesFiles(has func(map[string]bool) bool) string {
	switch {
	case has(deleteWords):
		return KindDeleteFile
	case has(moveWords):
		return KindMoveFile
	case has(editWords):
		return KindEditFile
	case has(writeWords):
		return KindWriteFile
	}
	return ""
}

// guessRole returns what an argument seems to be by its name alone.
func guessRole(name string) Role {
	switch strings.Map(dropSeparators, strings.ToLower(name)) {
	case "command", "cmd", "commandline", "cmdline", "shellcommand", "bashcommand", "bash", "exec", "commands":
		return kinds.Command
	case "shell":
		return kinds.Shell
	case "argv":
		return kinds.Argv
	case "code", "script", "javascript", "python", "sourcecode", "expression", "function", "program":
		return kinds.Code
	case "path", "paths", "file", "files", "filepath", "filepaths", "filename", "filenames", "dir", "directory", "folder",
		"source", "src", "dst", "dest", "destination", "target", "targetfile", "sourcefile", "from", "to", "root", "basepath",
		"absolutepath", "relativepath", "notebookpath", "outputpath", "inputpath", "oldpath", "newpath", "sourcepath",
		"destinationpath", "repopath", "localpath", "location":
		return kinds.ReadPath
	case "cwd", "workdir", "workingdirectory", "workingdir":
		return kinds.Dir
	case "url", "urls", "uri", "href", "link", "endpoint", "address", "website":
		return kinds.URL
	case "input", "stdin", "keys", "text", "data":
		return kinds.Input
	case "sql", "query", "statement", "statements":
		return kinds.SQL
	case "env", "environment", "environmentvariables":
		return kinds.Env
	}
	return Unmapped
}

func dropSeparators(r rune) rune {
	if r == '_' || r == '-' || r == '.' {
		return -1
	}
	return r
}

// wordsOf splits a name at separators and where lower case turns to upper: "readTextFile" has three.
func wordsOf(name string) (words []string) {
	start, last := 0, rune(0)
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRuneInString(name[i:])
		separator := !unicode.IsLetter(r) && !unicode.IsDigit(r)
		if separator || unicode.IsLower(last) && unicode.IsUpper(r) {
			if i > start {
				words = append(words, strings.ToLower(name[start:i]))
			}
			start = i
			if separator {
				start = i + size
			}
		}
		i, last = i+size, r
	}
	if start < len(name) {
		words = append(words, strings.ToLower(name[start:]))
	}
	return words
}

// audioCategory returns the category of a trusted tool that speaks or listens, else "".
func audioCategory(name string) string {
	for _, w := range wordsOf(name) {
		switch {
		case speakWords[w]:
			return CategoryAudioOutput
		case listenWords[w]:
			return kinds.CategoryAudioInput
		}
	}
	return ""
}
