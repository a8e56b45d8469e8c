package embedded

import (
	"reflect"
	"strings"

	"github.com/benhoyt/goawk/lexer"
	"github.com/benhoyt/goawk/parser"
)

// Awk reports whether a program only reads its input, computes and prints, whichever awk runs it.
//
// goawk's parser reads the program, and the tree must hold nothing that executes, redirects, or reads other files. The
// tokens are checked too: every awk has to split the text at the same places.
func Awk(program string) (harmless bool) {
	if !readable(program) || strings.Contains(program, "'") || strings.Contains(program, "\\\n") || !awkTokens(program) {
		return false
	}
	defer func() {
		if recover() != nil { // goawk's parser reports some errors by a panic
			harmless = false
		}
	}()
	p, err := parser.ParseProgram([]byte(program), nil)
	if err != nil {
		return false
	}
	return awkTree(reflect.ValueOf(&p.Program))
}

// awkNodes lists the nodes of goawk's syntax tree that a harmless program may contain. goawk's package for them is
// internal, so they are known by name. A type that a later version adds is not harmless.
var awkNodes = names(`Program Action Function Position
	PrintStmt PrintfStmt ExprStmt IfStmt ForStmt ForInStmt WhileStmt DoWhileStmt BreakStmt ContinueStmt NextStmt NextfileStmt
	ExitStmt DeleteStmt ReturnStmt BlockStmt
	FieldExpr UnaryExpr BinaryExpr InExpr CondExpr NumExpr StrExpr RegExpr VarExpr IndexExpr AssignExpr AugAssignExpr IncrExpr
	CallExpr UserCallExpr MultiExpr GetlineExpr GroupingExpr`)

// awkTree reports whether a part of the syntax tree is harmless.
func awkTree(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		return v.IsNil() || awkTree(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			if !awkTree(v.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Struct:
		if !awkNode(v) {
			return false
		}
		for i := range v.NumField() {
			if !awkTree(v.Field(i)) {
				return false
			}
		}
		return true
	case reflect.String, reflect.Bool, reflect.Int, reflect.Float64:
		return true
	}
	return false
}

// awkNode reports whether a node is harmless, apart from what is below it.
func awkNode(v reflect.Value) bool {
	switch name := v.Type().Name(); name {
	case "PrintStmt", "PrintfStmt":
		return v.FieldByName("Dest").IsNil() && lexer.Token(v.FieldByName("Redirect").Int()) == lexer.ILLEGAL
	case "WhileStmt", "DoWhileStmt", "ForStmt": // a loop whose condition is a number never ends
		cond := v.FieldByName("Cond")
		return !cond.IsNil() && cond.Elem().Elem().Type().Name() != "NumExpr"
	case "GetlineExpr":
		return v.FieldByName("Command").IsNil() && v.FieldByName("File").IsNil()
	case "CallExpr":
		return awkFunctions[lexer.Token(v.FieldByName("Func").Int())]
	default:
		return awkNodes[name]
	}
}

func tokens(list ...lexer.Token) map[lexer.Token]bool {
	set := map[lexer.Token]bool{}
	for _, t := range list {
		set[t] = true
	}
	return set
}

var (
	awkFunctions = tokens(lexer.F_ATAN2, lexer.F_CLOSE, lexer.F_COS, lexer.F_EXP, lexer.F_FFLUSH, lexer.F_GSUB, lexer.F_INDEX, lexer.F_INT,
		lexer.F_LENGTH, lexer.F_LOG, lexer.F_MATCH, lexer.F_RAND, lexer.F_SIN, lexer.F_SPLIT, lexer.F_SPRINTF, lexer.F_SQRT, lexer.F_SRAND,
		lexer.F_SUB, lexer.F_SUBSTR, lexer.F_TOLOWER, lexer.F_TOUPPER)
	// In every awk, a slash after a token of awkBeforeRegex begins a regular expression, and after a token of
	// awkBeforeDivision it divides.
	awkBeforeRegex = tokens(lexer.NEWLINE, lexer.SEMICOLON, lexer.LBRACE, lexer.RBRACE, lexer.LPAREN, lexer.COMMA, lexer.MATCH, lexer.NOT_MATCH,
		lexer.NOT, lexer.AND, lexer.OR, lexer.PRINT, lexer.ASSIGN, lexer.RETURN)
	awkBeforeDivision = tokens(lexer.NAME, lexer.NUMBER, lexer.STRING, lexer.RBRACKET, lexer.RPAREN)
	// awkAfterGetline lists the tokens that end a getline which reads the next record of the input.
	awkAfterGetline = tokens(lexer.SEMICOLON, lexer.NEWLINE, lexer.RBRACE, lexer.RPAREN, lexer.EOF)
	// awkVariables lists the variables with a special meaning that programs may use. ENVIRON, ARGV, SYMTAB and the like
	// give access to more than the input.
	awkVariables = names("NF NR FNR FS OFS ORS RS FILENAME SUBSEP RSTART RLENGTH OFMT CONVFMT")
)

// awkControl lists the words whose condition stands in parentheses.
var awkControl = map[lexer.Token]bool{lexer.IF: true, lexer.WHILE: true, lexer.FOR: true}

// awkOwn reports whether an awk may set a variable by itself: ENVIRON, PROCINFO, and whatever later awks add.
func awkOwn(name string) bool {
	return len(name) > 1 && strings.ToUpper(name) == name && !awkVariables[name]
}

// awkState is the state of the token check.
type awkState struct {
	open     []bool // open parentheses; true for those of if, while and for
	control  bool   // the parenthesis of an if, while or for has just closed
	printing bool   // in a print, which began inside base parentheses
	base     int
	getline  int // 1 after the word getline, 2 after its variable
}

// awkTokens reports whether every awk splits the text into the same tokens, and no token stands for a pipe, a
// redirection, a command or a file.
func awkTokens(text string) bool {
	l := lexer.NewLexer([]byte(text))
	var s awkState
	for prev := lexer.NEWLINE; ; {
		_, tok, val := l.Scan()
		switch slash := tok == lexer.DIV || tok == lexer.DIV_ASSIGN; {
		case slash && awkBeforeRegex[prev]:
			if _, tok, val = l.ScanRegex(); tok == lexer.ILLEGAL || !closedBrackets(val) {
				return false
			}
		case slash && (s.control || !awkBeforeDivision[prev]):
			return false
		}
		if !s.reads(tok) || !s.takes(tok, val, prev) {
			return false
		}
		if tok == lexer.EOF {
			return true
		}
		prev = tok
	}
}

// reads reports whether a getline before the token reads the next record of the input and nothing else.
func (s *awkState) reads(tok lexer.Token) bool {
	switch {
	case s.getline == 0:
	case s.getline == 1 && tok == lexer.NAME:
		s.getline = 2
	case !awkAfterGetline[tok]:
		return false
	default:
		s.getline = 0
	}
	return true
}

// takes reports whether a token is harmless, and records what it opens and closes.
func (s *awkState) takes(tok lexer.Token, val string, prev lexer.Token) bool {
	s.control = false
	switch tok {
	case lexer.ILLEGAL, lexer.PIPE, lexer.APPEND, lexer.AT, lexer.F_SYSTEM:
		return false
	case lexer.GETLINE:
		s.getline = 1
	case lexer.NAME:
		return !awkOwn(val)
	case lexer.LPAREN:
		s.open = append(s.open, awkControl[prev])
	case lexer.RPAREN:
		if len(s.open) == 0 {
			return false
		}
		s.control = s.open[len(s.open)-1]
		s.open = s.open[:len(s.open)-1]
	case lexer.PRINT, lexer.PRINTF:
		s.printing, s.base = true, len(s.open)
	case lexer.SEMICOLON, lexer.LBRACE, lexer.RBRACE:
		s.printing = false
	case lexer.GREATER:
		return !s.printing || len(s.open) > s.base
	}
	return true
}
