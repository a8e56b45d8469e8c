package shellparse

// gitDiff are the options of the subcommands that show commits and differences.
const gitDiff = "--output=w --ext-diff:x --textconv:x -O=r -S= -G= -n,--max-count= -L= -U,--unified? -l= --format? --pretty? " +
	"--since,--after= --until,--before= --author= --committer= --grep= --skip= --date= --stdin --src-prefix= --dst-prefix= " +
	"--line-prefix= --inter-hunk-context= --diff-filter= --word-diff? --word-diff-regex= --color? --color-words? --stat? " +
	"--dirstat? --submodule? -I,--ignore-matching-lines= --ws-error-highlight= --anchored= --diff-algorithm= --skip-to= " +
	"--rotate-to= --find-object= -M? -C? -B? -X? --exclude= --glob= --branches? --tags? --remotes? --decorate-refs= " +
	"--decorate-refs-exclude= --encoding= --min-parents= --max-parents= --abbrev? --group= "

// gitRows are git's own options and those of its subcommands. Options that git itself documents as running a
// program or writing a file are listed, and those that make a harmless subcommand lose work.
var gitRows = []Program{
	{
		Name: "git",
		Options: "-C=d -c=k --config-env=x --git-dir=g --work-tree=g --namespace= --exec-path=x -p,--paginate:! " +
			"-P,--no-pager --no-replace-objects --bare --literal-pathspecs --glob-pathspecs --noglob-pathspecs " +
			"--icase-pathspecs --no-optional-locks --no-lazy-fetch --list-cmds= --attr-source= --super-prefix= " +
			"--html-path --man-path --info-path -v,--version -h,--help",
		Subcommands: "add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore check-mailmap " +
			"check-ref-format checkout checkout-index cherry cherry-pick clean clone column commit commit-graph " +
			"commit-tree config count-objects describe diff diff-files diff-index diff-tree difftool fast-export " +
			"fast-import fetch fetch-pack filter-branch for-each-ref for-each-repo format-patch fsck gc " +
			"get-tar-commit-id grep hash-object help hook index-pack init interpret-trailers log ls-files ls-remote " +
			"ls-tree mailinfo mailsplit maintenance merge merge-base merge-file merge-index merge-one-file " +
			"merge-tree mergetool mktag mktree multi-pack-index mv name-rev notes pack-objects pack-redundant " +
			"pack-refs patch-id prune prune-packed pull push range-diff read-tree rebase receive-pack reflog refs " +
			"remote repack replace replay request-pull rerere reset restore rev-list rev-parse revert rm send-email " +
			"send-pack shortlog show show-branch show-index show-ref sparse-checkout stage stash status stripspace " +
			"submodule switch symbolic-ref tag unpack-file unpack-objects update-index update-ref update-server-info " +
			"upload-archive upload-pack var verify-commit verify-pack verify-tag version whatchanged worktree " +
			"write-tree lfs instaweb gui citool gitk daemon shell svn p4 flow credential credential-cache " +
			"credential-store backfill diagnose bugreport scalar imap-send archimport cvsimport cvsserver " +
			"cvsexportcommit quiltimport remote-http remote-https http-fetch http-push http-backend",
	},
	{
		Name: "git log|git show|git diff|git whatchanged|git diff-tree|git diff-index|git diff-files|git reflog|" +
			"git range-diff|git rev-list|git shortlog|git stash show|git stash list|git cherry|git reflog show",
		Options: gitDiff + "--cc -c -m --from? --notes? --no-index:u",
	},
	{
		Name: "git format-patch",
		Options: gitDiff + "-o,--output-directory=t --to= --cc= --from? --in-reply-to= --subject-prefix= --signature= " +
			"--signature-file=r --description-file=r -v,--reroll-count= --start-number= --suffix= --base= --attach? " +
			"--inline? --thread? --interdiff= --range-diff= --creation-factor= --rfc? --cover-letter -k -s -N --stdout",
	},
	{Name: "git stash", Options: "-m,--message= -u -a -k -p,--patch -q --pathspec-from-file=l"},
	{
		Name:    "git ls-files|git ls-tree|git status",
		Options: "-X,--exclude-from=r -x,--exclude= --exclude-per-directory= --with-tree= --format= --abbrev? --untracked-files? --ignored? --column? --porcelain? --pathspec-from-file=l",
	},
	{Name: "git fsck", Options: "--lost-found:! --full --strict --unreachable --no-reflogs --cache --root --tags"},
	{
		Name: "git for-each-ref|git show-ref|git show-branch|git describe|git name-rev|git merge-base|git rev-parse|" +
			"git count-objects|git var|git version|git check-ref-format|git verify-commit|git verify-tag|" +
			"git get-tar-commit-id|git patch-id",
		Options: "--count= --sort= --format= --points-at= --exclude= --refs= --match= --candidates= --dirty? --abbrev? --stdin",
	},
	{Name: "git submodule status|git submodule summary", Options: "-n,--summary-limit= --recursive --cached --files -q"},
	{Name: "git remote", Options: "-t= -m= -f -v,--verbose -p,--prune --tags --no-tags --mirror?"},
	{Name: "git config", Options: "-f,--file=r --blob= --type= --default= --comment= --value= --url="},
	{Name: "git remote show|git remote get-url", Options: "-n -v --push --all"},
	{Name: "git worktree list", Options: "--expire= -v --porcelain -z"},
	{
		Name:     "git grep",
		Options:  "-O,--open-files-in-pager?x -f=r -e=c -A= -B= -C= -m= --threads= --max-depth= --ext-grep:x --textconv:x",
		Operands: "",
	},
	{
		Name: "git fetch|git pull|git ls-remote|git clone|git fetch-pack|git remote-http",
		Options: "--upload-pack,-u=x --exec=x -c,--config=k --template=x --separate-git-dir=t --reference=r " +
			"--reference-if-able=r -o,--origin= --server-option= -b,--branch= --depth= --shallow-since= " +
			"--shallow-exclude= --filter= -j,--jobs= --refmap= --recurse-submodules? --recursive -s= -X= -S? " +
			"--bundle-uri=! --negotiation-tip= --deepen= --sort= --symref -f,--force",
	},
	{
		Name: "git push|git send-pack",
		Options: "--receive-pack=x --exec=x -f,--force:! --force-with-lease?! --force-if-includes --mirror:! " +
			"-d,--delete:! --prune:! --all --branches --tags -o,--push-option= --repo=! --signed? " +
			"--recurse-submodules= -u,--set-upstream -n,--dry-run -q -v --follow-tags --atomic --no-verify " +
			"--porcelain --progress --thin",
	},
	{
		Name: "git commit",
		Options: "-m,--message= -F,--file=r -t,--template=r -c,--reedit-message= -C,--reuse-message= --author= --date= " +
			"--fixup= --squash= --trailer= -S,--gpg-sign? --cleanup= --pathspec-from-file=l -a -q -v -n,--no-verify " +
			"--amend --no-edit -e,--edit --allow-empty -s,--signoff -u? -p -i -o --dry-run",
	},
	{
		Name: "git add|git stage",
		Options: "--pathspec-from-file=l --chmod= -A -n -v -f,--force:! -i -p,--patch -e,--edit:x -u -N --refresh --ignore-errors --ignore-missing " +
			"--sparse --renormalize --intent-to-add --all --update --no-all --no-ignore-removal --dry-run --verbose --pathspec-file-nul",
	},
	{
		Name: "git rm|git mv",
		Options: "--pathspec-from-file=l --chmod= -A -n -v -f,--force -i -p,--patch -e,--edit:x -u -N -r --cached " +
			"--ignore-unmatch -q",
	},
	{
		Name: "git checkout",
		Options: "-f,--force:! -B=! -b= --orphan= --conflict= --pathspec-from-file=l --ours:! --theirs:! -m,--merge " +
			"-p,--patch --recurse-submodules? -t,--track? -q -d,--detach -l --guess --no-guess --overwrite-ignore:! " +
			"--progress",
	},
	{
		Name: "git switch",
		Options: "-f,--force:! --discard-changes:! -C,--force-create=! -c,--create= --orphan= --conflict= -m,--merge " +
			"-t,--track? -d,--detach -q --guess --no-guess --recurse-submodules?",
	},
	{
		Name:    "git restore",
		Options: "-s,--source= --pathspec-from-file=l -S,--staged -W,--worktree -q,--quiet --progress --no-progress --ignore-unmerged --recurse-submodules?",
	},
	{Name: "git reset", Options: "--hard:! --merge:! --keep:! --pathspec-from-file=l --soft --mixed -N -q -p"},
	{Name: "git clean", Effect: "deletes files", Options: "-e,--exclude="},
	{
		Name: "git branch",
		Options: "-D:! -d,--delete:! -f,--force:! -M:! -C:! -m,--move -c,--copy -u,--set-upstream-to= " +
			"--edit-description:x --format= --sort= --contains? --no-contains? --merged? --no-merged? --points-at= " +
			"--abbrev? --column? --color? -t,--track? -v -vv -a -r -l,--list -q --show-current",
	},
	{
		Name: "git tag",
		Options: "-d,--delete:! -f,--force:! -m,--message= -F,--file=r -u,--local-user= -s -a -l,--list -n? --sort= " +
			"--format= --contains? --points-at= --merged? --no-merged? -v,--verify -e,--edit --cleanup= --column? " +
			"--color?",
	},
	{
		Name: "git worktree",
		Options: "-f,--force:! -b= -B=! --orphan --reason= --expire= --detach --checkout --lock -n -v --porcelain -z " +
			"--guess-remote --track",
	},
	{
		Name: "git rebase",
		Options: "-x,--exec=s -i,--interactive -s,--strategy=x --onto= -X,--strategy-option= -S,--gpg-sign? --root " +
			"--autostash --no-verify --edit-todo:x --continue --abort --skip --quit -r? -q -v -f --keep-base -C= " +
			"--whitespace= --empty=",
	},
	{
		Name: "git merge|git cherry-pick|git revert",
		Options: "-s,--strategy=x -m= -F,--file=r -X,--strategy-option= -S,--gpg-sign? --cleanup= --into-name= --edit -e " +
			"--no-edit --ff --no-ff --ff-only --squash --abort --continue --quit --skip -n -x --log? -q -v",
	},
	{
		Name: "git am|git apply",
		Options: "--directory= --unsafe-paths:! -p= -C= --exclude= --include= --whitespace= --build-fake-ancestor=w " +
			"--resolvemsg= -S? -3 -R --check --stat --numstat --summary --index --cached -v -q --reject --allow-empty",
		Operands: "r",
	},
	{Name: "git bundle", Options: "--version= -q --progress --all"},
	{
		Name:    "git archive",
		Options: "-o,--output=w --exec=x --remote=! --format= --prefix= --add-file=r --add-virtual-file= --mtime= -v -l",
	},
	{
		Name:     "git blame|git annotate",
		Options:  "--contents=r --ignore-revs-file=r -S=r --ignore-rev= -L= --date= --since= --abbrev= -C? -M?",
		Operands: "",
	},
	{
		Name:    "git cat-file|git hash-object|git show-index|git stripspace|git mktree|git check-attr|git check-ignore",
		Options: "--textconv:x --filters:x --batch-command? --batch? -t= -w:! --path= --stdin-paths --batch-check?",
	},
	{
		Name: "git init",
		Options: "--template=x --separate-git-dir=t -b,--initial-branch= --object-format= --ref-format= --shared? -q " +
			"--bare",
	},
	{Name: "git difftool|git mergetool", Effect: "starts programs", Options: "-x,--extcmd=x -t,--tool=x"},
	{
		Name: "git filter-branch|git fast-import|git fast-export|git daemon|git shell|git instaweb|git gui|git citool|" +
			"git gitk|git send-email|git imap-send|git svn|git p4|git flow|git for-each-repo|git hook|" +
			"git maintenance|git upload-pack|git receive-pack|git upload-archive|git http-backend|git credential|" +
			"git credential-cache|git credential-store|git cvsserver|git cvsimport|git archimport|git quiltimport|" +
			"git merge-index|git scalar|git diagnose|git bugreport|git request-pull|git help",
		Effect: "starts programs",
	},
	{
		Name: "git gc|git prune|git repack|git update-ref|git symbolic-ref|git replace|git pack-redundant|" +
			"git prune-packed|git reflog-delete|git checkout-index|git read-tree|git update-index|" +
			"git sparse-checkout|git refs",
		Options: "--prune?! -d:! -D:! --delete:! --stdin:! -m:! -u:! -f:! --aggressive -q --index-info:! --force-remove:! " +
			"--expire=! -a -k -l --short --graft:! --edit:x",
	},
	{Name: "git notes", Options: "-F,--file=r -m= -C= -c= -f --ref="},
	{Name: "git interpret-trailers", Options: "--in-place:m --trailer= --parse --where="},
	{
		Name: "git submodule",
		Options: "--reference=r --depth= -b= --name= -j,--jobs= -f,--force:! --init --recursive --remote -q --checkout " +
			"--merge --rebase",
	},
	{Name: "git lfs", Options: "-I= -X= -a -n -l"},
}
