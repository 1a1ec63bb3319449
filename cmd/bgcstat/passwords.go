package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// What holds a password in the arguments of load generators and clients, and in
// scripts that call them. Rather too much is taken for one than too little.
const (
	passwordName = `[\w.-]*(?:pass(?:word|wd|phrase)?|pwd)[a-z0-9_-]*`
	// A word of a shell, which may be quoted in parts.
	shellWord = `(?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^\s&;"'\\]|["'\\])+`
	// The last of the clients' options in one word, before the password.
	gluedOption = `-[abfinqrstvABCEGHLNX]*p`
	clientNames = `(mysql|mariadb|mycli|mydumper|myloader|tpcc_|sshpass)`
)

var (
	passwordArg  = regexp.MustCompile(`(?is)^(` + passwordName + `=).+`)
	passwordWord = regexp.MustCompile(`(?i)^` + passwordName + `$`) // the next argument is one
	passwords    = regexp.MustCompile(`(?i)(` + passwordName + `["']?\s*[=:(]\s*)` + shellWord)
	// In a script, where a word is followed by another.
	passwordWords = regexp.MustCompile(`(?i)((?:^|\s)` + passwordName + `\s+)("[^"]*"|'[^']*'|[^\s=:-]\S*)`)
	identifiedBy  = regexp.MustCompile(`(?i)(\bidentified\s+(?:\S+\s+){0,2}?(?:by|as)\s+)` + shellWord) // in SQL
	gluedArg      = regexp.MustCompile(`(?s)^(` + gluedOption + `).+`)                                  // of the clients
	glued         = regexp.MustCompile(`(\s` + gluedOption + `)` + shellWord)
	urlPasswords  = regexp.MustCompile(`(://[^:@/\s]*):\S*@`) // scheme://user:password@host
	dsnPasswords  = regexp.MustCompile(`(^|[\s"'=])([^:@/\s"'=]+):[^/\s]\S*@([\w.(/\[])`)
	perconaDSN    = regexp.MustCompile(`((?:^|[\s"'=,])p=)[^\s"',]+`) // h=host,p=password
	clientProgram = regexp.MustCompile(`^` + clientNames)
	clientCalled  = regexp.MustCompile(`(^|[\s/;&|(])` + clientNames)
	shellOption   = regexp.MustCompile(`^-\w*c$`) // the next argument is a script
)

// withoutPasswords is a command as it may be written down.
func withoutPasswords(command []string) []string {
	out := slices.Clone(command)
	client, next := clientProgram.MatchString(filepath.Base(command[0])), false
	for i, arg := range command[1:] {
		arg = identifiedBy.ReplaceAllString(arg, "$1***")
		whole := passwordArg.ReplaceAllString(arg, "$1***")
		script := strings.ContainsAny(arg, " \t\n")
		switch {
		case next && !strings.HasPrefix(arg, "-"):
			whole = "***"
		case whole == arg || script && shellOption.MatchString(command[i]):
			whole = passwords.ReplaceAllString(arg, "$1***")
			whole = passwordWords.ReplaceAllString(whole, "$1***")
		}
		whole = urlPasswords.ReplaceAllString(whole, "$1:***@")
		whole = dsnPasswords.ReplaceAllString(whole, "$1$2:***@$3")
		whole = perconaDSN.ReplaceAllString(whole, "$1***")
		if client {
			whole = gluedArg.ReplaceAllString(whole, "$1***")
		}
		if script && clientCalled.MatchString(arg) {
			whole = glued.ReplaceAllString(whole, "$1***")
		}
		// Of a mysql client the next is no password, and hiding it does no harm.
		next = arg == "-p" || passwordWord.MatchString(arg)
		// Such as timeout 60 mysqlslap.
		client = client || clientProgram.MatchString(filepath.Base(arg))
		out[i+1] = whole
	}
	return out
}
