package shellparse

import "slices"

// programRows are programs that read, write or execute by option or operand. Sources: the programs' manuals,
// GTFOBins, and the bypasses that were published against earlier gates.
var programRows = slices.Concat(readers(), []Program{
	// Files.
	{Name: "tee", Options: "-a,--append -i -p --output-error?", Operands: "w"},
	{
		Name: "cp|gcp",
		Options: "-t,--target-directory=t -S,--suffix= --reflink? --sparse= --backup? --preserve? --no-preserve= " +
			"--context?",
		Operands: "rw",
	},
	{Name: "mv|gmv", Options: "-t,--target-directory=t -S,--suffix= --backup?", Operands: "mv"},
	{
		Name: "install|ginstall",
		Options: "-t,--target-directory=t -m,--mode= -o,--owner= -g,--group= -S,--suffix= -d,--directory " +
			"--strip-program=x --backup? -s,--strip",
		Operands: "rw",
	},
	{Name: "ln|gln", Options: "-t,--target-directory=t -S,--suffix= --backup?", Operands: "rw"},
	{
		Name: "rm|grm|rmdir|unlink|srm|trash|trash-put|rimraf|del-cli",
		Options: "-r,-R,--recursive -f,--force -i -I -d,--dir -v,--verbose --interactive? --preserve-root? " +
			"--no-preserve-root:! --one-file-system -P -W -p,--parents",
		Operands: "w",
	},
	{Name: "mkdir|mkfifo|mknod", Options: "-m,--mode= -p,--parents -v,--verbose -Z --context?", Operands: "w"},
	{
		Name:     "touch",
		Options:  "-r,--reference=r -d,--date= -t= --time= -a -c,--no-create -h,--no-dereference -m",
		Operands: "w",
	},
	{Name: "truncate", Options: "-s,--size= -r,--reference=r -o,--io-blocks -c,--no-create", Operands: "w"},
	{Name: "fallocate", Options: "-o,--offset= -l,--length= -n,--keep-size", Operands: "w"},
	{Name: "shred", Options: "-n,--iterations= -s,--size= --random-source=r -u --remove? -v -x -z -f", Operands: "w"},
	{Name: "wipe", Options: "-b= -l= -q -Q= -R=r -S= -c -f -k -r -s -v -n -e -i -D -F -M=", Operands: "w"},
	{Name: "mktemp", Options: "-p,--tmpdir? --suffix= -d -q -u -t"},
	{Name: "sponge", Options: "-a", Operands: "w"},
	{Name: "chattr", Options: "-v= -p= -R -V -f", Operands: "1w"},
	{Name: "setfattr", Options: "-n,--name= -v,--value= -x,--remove= --restore=! -h --raw", Operands: "w"},
	{Name: "setfacl", Options: "-m,--modify= -x,--remove= -M,--modify-file=r -X,--remove-file=r --restore=! --set= --set-file=r -R -b -k -n -d", Operands: "w"},
	{Name: "chmod|chown|chgrp|chcon", Options: "--reference=r -R,--recursive", Operands: "1w"},
	{
		Name: "split|csplit|gsplit",
		Options: "--filter=x -a,--suffix-length= -b,--bytes= -C= -l,--lines= -n,--number= -t,--separator= " +
			"--additional-suffix= -d --numeric-suffixes? -f,--prefix=w",
		Operands: "2w",
		Effect:   "writes parts",
	},
	{
		Name:     "patch|gpatch",
		Options:  "-i,--input=r -o,--output=w -r,--reject-file=w -d,--directory=d -p,--strip= --dry-run -R -N -l -f -t -u -c -n -E -s --verbose --posix --binary -e,--ed:! -B= -D= -F= -V= -Y= -z= -b",
		Operands: "w",
	},
	{
		Name: "tree",
		Options: "-o=w -L= -P= -I= --filelimit= --timefmt= --sort= --charset= --fromfile:! --gitfile=r --infofile=r -H= " +
			"-T= -R:!",
		Operands: "r",
	},
	{
		Name: "ls|gls|eza|exa|lsd|dir|vdir",
		Options: "-I,--ignore= -w= -T= --color? --sort= --time= --time-style= --block-size= --hide= --quoting-style= " +
			"--format= --indicator-style= --hyperlink?",
	},
	{
		Name:    "du|df",
		Options: "-X,--exclude-from=r --files0-from=l -d,--max-depth= -B= -t= --exclude= --time-style= --output?",
	},
	{
		Name: "tar|gtar|bsdtar",
		Options: "-f,--file=r -C,--directory=d -T,--files-from=l -X,--exclude-from=r --exclude= " +
			"-I,--use-compress-program=x --use-compress-prog=x -F,--info-script,--new-volume-script=x " +
			"--checkpoint-action=x --checkpoint? --to-command=x --rsh-command=x --rmt-command=x " +
			"--transform,--xform=! -g,--listed-incremental=w --index-file=w --volno-file=w -P,--absolute-names:! -K= " +
			"-N= -V= -b= -L= -H= --strip-components= --one-top-level?! --owner= --group= --mode= --mtime= --wildcards --remove-files:! " +
			"--unlink-first:! --overwrite -s=! --options=! --to-stdout,-O",
	},
	{
		Name: "zip",
		Options: "-T,--test -TT,--unzip-command=x -O,--output-file=w -b,--temp-path=t -m,--move:! -x= -i= -n= -P= -t= " +
			"-tt= -r -R -@ -lf,--logfile-path=w",
		Operands: "wr",
	},
	{Name: "unzip", Options: "-d=t -x= -P=", Operands: "r"},
	{
		Name:     "gzip|gunzip|pigz|unpigz",
		Options:  "<operand>:r -c,--stdout,--to-stdout:p -k,--keep -d,--decompress -t,--test:p -l,--list:p -S,--suffix= -p,--processes= -b,--blocksize=",
		Operands: "w",
	},
	{Name: "bzip2|bunzip2", Options: "<operand>:r -c,--stdout:p -k,--keep -d,--decompress -t,--test:p", Operands: "w"},
	{
		Name: "xz|unxz|lzma|unlzma",
		Options: "<operand>:r -c,--stdout,--to-stdout:p -k,--keep -d,--decompress -t,--test:p -l,--list:p -S,--suffix= -T,--threads= -F,--format= " +
			"-C,--check= -M,--memlimit= --files?l --files0?l",
		Operands: "w",
	},
	{
		Name: "zstd|unzstd|zstdmt",
		Options: "<operand>:r -c,--stdout:p -k,--keep -d,--decompress -t,--test:p -l,--list:p -o=w -D=r --patch-from=r --filelist=l " +
			"--output-dir-flat=t --output-dir-mirror=t --trace=w --rm:!",
		Operands: "w",
	},
	{Name: "lz4|unlz4", Options: "<operand>:r -c,--stdout:p -d,--decompress -t,--test:p -D=r -m,--multiple --rm:!", Operands: "w"},
	{Name: "brotli", Options: "<operand>:r -c,--stdout:p -d,--decompress -t,--test:p -o,--output=w -D,--dictionary=r -S,--suffix= -q,--quality= -w,--lgwin= -j,--rm:!", Operands: "w"},
	{Name: "compress|uncompress", Options: "<operand>:r -c:p -d -b=", Operands: "w"},
	{
		Name:     "dos2unix|unix2dos|mac2unix|unix2mac",
		Options:  "<operand>:r -n,--newfile -o,--oldfile -c,--convmode= -D,--display-enc= -i?",
		Operands: "w",
	},
	{
		Name:    "7z|7za|7zr|rar|unrar|cpio|pax|ar|jar",
		Options: "-o=w -si -so -F=w -I=r -O=w --to-stdout --rsh-command=x -D=d -s=! --no-absolute-filenames",
		Effect:  "archive",
	},
	{
		Name: "rsync",
		Options: "-e,--rsh=x --rsync-path=x --remote-option,-M=x --files-from=l --exclude-from=r --include-from=r " +
			"--exclude= --include= --password-file=r --log-file=w --write-batch=w --only-write-batch=w " +
			"--read-batch=r --partial-dir=t -T,--temp-dir=t --backup-dir=t --compare-dest= --copy-dest= --link-dest= " +
			"--delete:! --delete-before:! --delete-after:! --delete-during:! --delete-excluded:! --del:! " +
			"--remove-source-files:! --daemon:x --config=x --copy-as=! --early-input=r --port= --bwlimit= --timeout= " +
			"-f,--filter= --max-size= --min-size= --chmod= --chown= --info= --debug= --out-format=",
		Operands: "rw",
	},
	{Name: "scp|sftp", Options: "-S=x -o=x -F=x -J=! -i= -P= -c= -l= -D=x -b=x -B= -R= -s= -X=", Operands: "rw"},
	{Name: "ssh-keygen", Options: "-D=x -f=w -t= -b= -C= -N= -P= -w=x -I= -s=! -q"},
	{Name: "ssh-add|ssh-agent", Options: "-s=x -e=x -S=x -P=x -t= -c -D:! -d", Style: "posix"},
	{
		Name:     "ctags|etags",
		Options:  "--options=x -f,-o=w -L=l --_xformat= --map-c= -R --exclude= --languages=",
		Operands: "r",
	},
	// Text.
	{
		Name: "sed|gsed|ssed",
		Options: "-e,--expression=c -f,--file=x -i,--in-place?m -I=m -l,--line-length= -n,--quiet,--silent " +
			"-E,-r,--regexp-extended -s,--separate -u,--unbuffered -z,--null-data -b,--binary --posix --debug " +
			"--sandbox --follow-symlinks --version --help",
		Operands: "1r",
	},
	{
		Name: "awk|gawk|mawk|nawk|original-awk|goawk|igawk|pgawk",
		Options: "-f,--file=x -i,--include=x -l,--load=x -E,--exec=x -v,--assign= -F,--field-separator= -e,--source=x " +
			"-d,--dump-variables?! -o,--pretty-print?! -p,--profile?! -D,--debug?x -S,--sandbox -W=! -b,--characters-as-bytes -c,--traditional " +
			"-g,--gen-pot -h,--help -k,--csv -L,--lint? -M,--bignum -n,--non-decimal-data -N -O,--optimize -P,--posix -r,--re-interval -t -V,--version",
		Operands: "1r",
		Style:    "posix",
	},
	{
		Name: "yq",
		Options: "-i,--inplace:m --in-place:m -f,--front-matter=x --from-file=x -p,--input-format= -o,--output-format= --expression=c " +
			"-I,--indent= -P,--prettyPrint -e,--exit-status -r,--unwrapScalar? -j,--tojson -y,--yaml-output -Y -s,--split-exp=! --split-exp-file=x " +
			"-n,--null-input -N,--no-doc -M,--no-colors -C,--colors -0,--nul-output -c -S --raw-output --slurp --compact-output -v,--verbose -V,--version -h,--help",
		Operands: "1r",
	},
	{
		Name: "vi|vim|nvim|view|vimdiff|ex|rvim|rview|gvim|nano|pico|emacs|emacsclient|ed|red|joe|mcedit|micro|helix|" +
			"hx|kak|code|subl",
		Effect: "editor",
	},
	{
		Name: "xdg-open|open|start|gio|osascript|automator|launchctl|defaults|wscript|cscript|powershell|pwsh|cmd|" +
			"rundll32|regsvr32|mshta|wmic",
		Effect: "starts programs",
	},
	{Name: "dc|bc", Options: "-e,--expression=c -f,--file=r -q -l -s -w -i -h -v", Operands: "r"},
	{
		Name:     "gofmt|goimports|gofumpt",
		Options:  "-w:m -r= -cpuprofile=w -local= -srcdir= -tabwidth= -lang= -modpath= -l -d -s -e",
		Style:    "go",
		Operands: "r",
	},
	{
		Name:     "shfmt",
		Options:  "-w,--write:m -i= -ln= -l -d -s -mn -p -bn -ci -sr -kp -fn -f",
		Style:    "go",
		Operands: "r",
	},
	{
		Name:     "clang-format",
		Options:  "-i:m -style= --style= -assume-filename= -lines= -n --Werror -files=l",
		Style:    "long",
		Operands: "r",
	},
	// Network.
	{
		Name: "curl",
		Options: "-o,--output=w -O,--remote-name --remote-name-all -J,--remote-header-name:! --output-dir=t " +
			"-D,--dump-header=w -c,--cookie-jar=w --trace=w --trace-ascii=w --stderr=w --etag-save=w --hsts=w " +
			"--alt-svc=w --libcurl=w --engine=x -K,--config=x -T,--upload-file=! --proto-default=! --doh-url=! " +
			"--dns-servers=! --resolve=! --connect-to=! --unix-socket=! --abstract-unix-socket=! --interface=! " +
			"-x,--proxy=! --preproxy=! --socks4=! --socks5=! --socks4a=! --socks5-hostname=! --netrc-file=r " +
			"-n,--netrc:! -E,--cert=r --key=r --cacert=r --capath=r -Q,--quote=! --mail-from=! --mail-rcpt=! " +
			"-F,--form=u -d,--data=u --data-ascii=u --data-binary=u --data-raw= --data-urlencode=u --json=u " +
			"--url-query=u -b,--cookie=u -H,--header=u --variable=! --expand-url=! -u,--user= -X,--request= " +
			"-A,--user-agent= -e,--referer= -m,--max-time= --connect-timeout= --retry= --retry-delay= " +
			"--retry-max-time= -r,--range= -w,--write-out=u --limit-rate= -y= -Y= -z,--time-cond= -C,--continue-at= " +
			"--max-redirs= --proto= --proto-redir= --ciphers= --tls-max= --max-filesize= --url= -U,--proxy-user= " +
			"--oauth2-bearer= --location-trusted:! -t,--telnet-option=! -P,--ftp-port=! --krb= --delegation= " +
			"--path-as-is -g,--globoff --next:! -Z -k,--insecure -L,--location -s,--silent -S,--show-error -f,--fail " +
			"-i,--include -I,--head -v,--verbose -G,--get -N -q -#",
	},
	{
		Name: "wget",
		Options: "-O,--output-document=w -o,--output-file=w -a,--append-output=w -P,--directory-prefix=t " +
			"-i,--input-file=! --use-askpass=x -e,--execute=x --config=x --post-file=! --body-file=! --post-data= " +
			"--body-data= --method= --header= -U= --save-cookies=w --load-cookies=r -A= -R= -D= -l= -t,--tries= " +
			"-T,--timeout= -w= -Q= -B= -X= -I= --warc-file=w --rejected-log=w --input-metalink=r --certificate=r " +
			"--private-key=r --ca-certificate=r --user= --password= -q -S --spider -x -r,--recursive:! -m,--mirror:! " +
			"--content-disposition:! --trust-server-names:! --metalink-over-http:! -N -c -nc -nv -np -nd -nH -k -p -b --hsts-file=w",
	},
	{
		Name: "nc|ncat|netcat|socat|telnet|ftp|tftp|lftp|mail|mailx|sendmail|msmtp|mutt|openvpn|wg|aria2c|axel|" +
			"cloudflared|ngrok|localtunnel|chisel|rclone|gsutil|s3cmd|mosquitto_pub|kcat|websocat|wscat|whois|finger|" +
			"dropbear|dbclient|rsh|rlogin|rexec",
		Effect: "network",
	},
	{
		Name: "gpg|gpg2",
		Options: "-o,--output=w --homedir=x --options=x --agent-program=x --dirmngr-program=x --gpgconf-program? " +
			"--photo-viewer=x --exec-path=x --load-extension=x -r,--recipient= -u,--local-user= --keyserver=! " +
			"--status-file=w --logger-file=w --log-file=w --attribute-file=w --batch --yes",
		Operands: "r",
	},
	// Processes and system.
	{Name: "date|gdate", Options: "-s,--set=! -d,--date= -f,--file=r -r,--reference=r -I? -R -u -j"},
	{Name: "hostname", Options: "-F,--file=! -b,--boot:! -f -i -I -s -d -A -a -y", Operands: ""},
	{
		Name:    "dmesg",
		Options: "-C,--clear:! -c,--read-clear:! -D:! -E:! -n,--console-level=! -F,--file=r -f= -l= -T -w -H,--human:x",
	},
	{
		Name: "journalctl",
		Options: "--vacuum-size=! --vacuum-time=! --vacuum-files=! --rotate:! --flush:! --sync:! --setup-keys:! " +
			"--update-catalog:! -u= -n= -o= -p= -S= -U= -D,--directory=r --file=r --cursor-file=w -f -e -x -k -b " +
			"--no-pager -r -q",
	},
	{Name: "fuser", Options: "-k,--kill:! -i -m= -n= -s -u -v -a"},
	{
		Name:    "systemctl",
		Options: "-H,--host=! -M,--machine=! --root=! --image=! --edit:x -p,--property= -P= -t,--type= -n,--lines= -o,--output= -s,--signal=",
	},
	{
		Name: "ip",
		Options: "-b,-ba,-bat,-batc,-batch=x -n,-ne,-net,-netn,-netns=! -force:! -f,-family= -l,-loops= -rc,-rcvbuf= -br,-brief -c,-color? " +
			"-4 -6 -0 -B -M -d -s -h -o -r -t -ts -a -j -p -N -V",
		Style: "long",
	},
	{Name: "ss", Options: "-D,--diag=w -F,--filter=r -K,--kill:! -N,--net=! -f,--family= -A,--query,--socket="},
	{Name: "lsof", Options: "-D=! +m? -m? -p= -u= -i? -c= -g? -d= -k= -r? -T?"},
	{Name: "pgrep|pstree|lsusb", Options: "-F,--pidfile=r -D=r -u= -U= -g= -P= -s= -t= -d= -H= -v -t"},
	{
		Name: "rpm|rpmquery",
		Options: "-E,--eval=x -D,--define=x --undefine=! --predefine=x --pipe=x --rcfile=x --macros=x --load=x --root,-r=! " +
			"--dbpath=! --specfile:x --import:! -e,--erase:! -i --install:! -U,--upgrade:! -F,--freshen:! --reinstall:! " +
			"--initdb:! --rebuilddb:! --restore:! --setperms:! --setugids:! --queryformat,--qf=",
	},
	{Name: "apt|apt-get|apt-cache|aptitude", Options: "-o,--option=x -c,--config-file=x -t,--target-release= -a,--host-architecture="},
	{
		Name: "dpkg|dpkg-query",
		Options: "--admindir,--instdir,--root=! --pre-invoke=x --post-invoke=x --status-logger=x --log=w -f,--showformat= " +
			"-i,--install:! -r,--remove:! -P,--purge:! --unpack:! --configure:! --force-all:!",
	},
	// Programs that run what they are given, or write beside what they show.
	{
		Name: "cloc",
		Options: "--extract-with=x --vcs=x --config=x --report-file,--out=w --sql=w --ignored=w --counted=w --found=w " +
			"--categorized=w --write-lang-def=w --diff-alignment=w --strip-comments:! --strip-code:! --list-file=l " +
			"--exclude-list-file=r --read-lang-def,--force-lang-def=r",
		Operands: "r",
	},
	{Name: "delta", Options: "--pager=x --config=x --diff-args=! --generate-completion= -n -s", Operands: "r"},
	{
		Name: "fzf|sk",
		Options: "--preview=x --bind=x --with-shell=x --become=x --listen?! --listen-unsafe?! --tmux? --history=w -f,--filter= " +
			"-q,--query= -d,--delimiter= -n,--nth= -m -e",
	},
	{Name: "mlr|fx", Effect: "runs code", Operands: "r"},
	{Name: "xq|tomlq", Options: "-i,--in-place:m -f,--from-file=x -L=x --arg= --argjson= -r -c -s -n -e -j -y -t -x", Operands: "1r"},
	// Debuggers and tracers.
	{
		Name: "gdb|lldb|pdb|ipdb|delve|dlv|cgdb|rr|bpftrace|perf|dtrace|sysdig|frida|radare2|r2|tcpdump|tshark|" +
			"wireshark|nmap|masscan",
		Effect: "runs code",
	},
	// Databases.
	{
		Name: "mysql|mariadb",
		Options: "-e,--execute=c -h,--host= -P,--port= -u,--user= -p,--password? -D,--database= --defaults-file=x " +
			"--defaults-extra-file=x --defaults-group-suffix=x --login-path= --plugin-dir=x --default-auth=x --pager?x --tee=w --init-command=c " +
			"--local-infile?! -S,--socket= --protocol= --ssl-mode= --ssl-ca=r --ssl-cert=r --ssl-key=r --connect-timeout= " +
			"--default-character-set= --delimiter=! -A,--no-auto-rehash -B,--batch -N,--skip-column-names -E,--vertical -H,--html -X,--xml " +
			"-r,--raw -q,--quick -s,--silent -t,--table -v,--verbose -w,--wait -C,--compress -f,--force --column-names --no-defaults " +
			"--safe-updates --ssl --skip-ssl --binary-as-hex -V,--version -I,--help",
	},
	{
		Name: "psql",
		Options: "-c,--command=c -f,--file=x -o,--output=w -L,--log-file=w -v,--set,--variable= -d,--dbname= -h,--host= " +
			"-p,--port= -U,--username= -F,--field-separator= -R,--record-separator= -P,--pset= -T,--table-attr= -A,--no-align -a,--echo-all " +
			"-b,--echo-errors -e,--echo-queries -E,--echo-hidden -n,--no-readline -q,--quiet -s,--single-step -S,--single-line -t,--tuples-only " +
			"-x,--expanded -X,--no-psqlrc -w,--no-password -W,--password -1,--single-transaction -l,--list -0,--record-separator-zero " +
			"-z,--field-separator-zero -H,--html --csv -V,--version --help",
	},
	{
		Name: "usql|pgcli|mycli|litecli",
		Options: "-c,--command=c -e,--execute=c -f,--file=x -o,--out,--output=w -v,--set,--variable= -d,--dbname= -h,--host= -p,--port= -u,-U,--username,--user= " +
			"-P,--pset= -F,--field-separator= -R,--record-separator= -T,--table-attr= -D,--database= -A -a -q,--quiet -t,--tuples-only -x,--expanded " +
			"-X,--no-rc,--no-psqlrc -w,--no-password -W,--password -1,--single-transaction -C,--csv -J,--json -H,--html -V,--version --help",
	},
	{
		Name: "sqlite3|duckdb",
		Options: "-cmd=c -c=c -s=c -init=x -f=x -A:x -zip:x -unsafe-testing:x -vfs=x -separator= -nullvalue= -newline= -readonly -json -jsonlines -csv " +
			"-header -noheader -column -line -list -html -markdown -table -box -quote -ascii -tabs -batch -bail -echo -stats -safe -interactive -no-stdin " +
			"-memtrace -deserialize -append:! -unsigned:! -version -help",
		Style: "long",
	},
	{
		Name: "clickhouse-client|clickhouse-local",
		Options: "-q,--query=c --queries-file=x -h,--host= --port= -u,--user= --password= -d,--database= -f,--format= -n,--multiquery -m,--multiline " +
			"-s,--secure -t,--time --output-format= --input-format= --version --help",
	},
	{
		Name:    "sqlcmd",
		Options: "-Q=c -q=c -i=x -o=w -S= -U= -P= -d= -E -C -N -G -W -b -h= -s= -w= -y= -Y= -t= -l= -v=! -K= -e -r? -I -k? -u -x -X",
	},
	{
		Name: "sqlplus|mysqlsh|cqlsh|snowsql|beeline|hive|spark-sql|spark-shell|pyspark|impala-shell|trino|presto|osqueryi|isql|iusql|isql-fb|osql|db2|bsqldb|" +
			"tsql|steampipe|litefs|libsql|dsqlcmd|kdb|q|cypher-shell|gremlin|surreal|edgedb|questdb|datasette|sqlite-utils|octosql|textql|trdsql|clickhouse|sqlite|sqlcipher",
		Effect: "runs code",
	},
	{
		Name:    "redis-cli|mongo|mongosh|influx|etcdctl|consul",
		Options: "--eval=x -x:! -h= -p= -n= -a= -u= -d= -f=x -q= -c=",
		Effect:  "",
	},
	{
		Name:    "pg_dump|mysqldump|pg_dumpall|mongodump",
		Options: "-f,--file=w -r,--result-file=w -T,--tab=t -o,--out=t -h= -p? -U= -d= -n= -t= --defaults-file=x",
	},
})

// knownTools are development tools that package runners start from the project, so that nothing new is loaded.
var knownTools = set("tsc eslint prettier jest vitest mocha ava tap nyc c8 playwright cypress webpack vite rollup esbuild " +
	"parcel turbo nx lerna next nuxt astro svelte-kit svelte-check vue-tsc stylelint commitlint lint-staged " +
	"husky knip depcheck madge typedoc jsdoc tsup tsx ts-node biome oxlint rome prisma drizzle-kit " +
	"tailwindcss postcss babel sass rimraf cross-env concurrently npm-run-all changeset semantic-release " +
	"size-limit publint attw pytest ruff mypy black isort flake8 pylint pyright bandit coverage tox nox " +
	"pre-commit sphinx-build mkdocs alembic uvicorn gunicorn python python3 pip ansible-lint yamllint " +
	"markdownlint markdownlint-cli2 cspell storybook ng react-scripts expo rspec rubocop rake rails")
