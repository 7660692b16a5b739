-- Everything but the order of index entries; one row that says ok where nothing is wrong.
SELECT quick_check
FROM pragma_quick_check;
