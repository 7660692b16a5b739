SELECT format('DROP TABLE mainspring.%I', :name::text) AS script;
