#!/bin/sh
# commit-filter of cgit: passes the text of a commit through, and under its message shows its statuses.
# In cgitrc: commit-filter=/etc/cgit/cgit-filter.sh
# COMMIT_STATUS_URL is the address of the service; set it here, or in the environment of cgit.
url=${COMMIT_STATUS_URL:-http://127.0.0.1:8080}

# cgit calls this for the subject (one line without an end), the message and the notes.
text=$(cat; printf x)
text=${text%x}
printf '%s' "$text"
repository=${CGIT_REPO_URL%/}
repository=${repository%.git}
sha=$(printf '%s' "${QUERY_STRING:-}" | tr '&;' '\n\n' | sed -n 's/^id=\([0-9a-f]\{40,64\}\)$/\1/p' | head -n 1)
case $repository in
  */*/* | *[!A-Za-z0-9._/-]* | '') exit 0 ;;
  */*) ;;
  *) exit 0 ;;
esac
[ -n "$sha" ] || exit 0

# A line without an end is the subject, unless the message has none and this is its last line: git knows.
newline='
'
case $text in
  '' | *"$newline"*) ;;
  *)
    of_commit() { git --git-dir="$CGIT_REPO_PATH" "$@" "$sha" 2>/dev/null; }
    [ -n "$(of_commit cat-file commit | tail -c 1)" ] || exit 0
    message=$(of_commit -c log.showSignature=false log -1 --encoding=UTF-8 --format=%B | sed '1d')
    plain=$(printf '%s' "$text" | sed 's/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g')
    [ "${message##*"$newline"}" = "$plain" ] || exit 0
    ;;
esac

# Statuses of public repositories only: nobody is signed in here. Without an answer the page is as it was.
curl --silent --fail --max-time 2 --max-filesize 100000 "$url/repos/$repository/commits/$sha/fragment" 2>/dev/null
# cgit shows notes with the same filter; a subject is empty, or like the last line, in odd commits only.
printf '%s' '<style>.commit-subject .commit-statuses,.commit-notes .commit-statuses{display:none}</style>'
exit 0
